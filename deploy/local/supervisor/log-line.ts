const levels: Readonly<Record<number, string>> = { 20: 'debug', 30: 'info', 40: 'warn', 50: 'error', 60: 'fatal' };

/** Fields that are not repeated: every line has them, or the text already shows them. */
const left = new Set(['level', 'time', 'service', 'msg', 'err', 'trace_id', 'span_id']);

/** Returns a JSON log line in readable form: time of day, level, message, cause, then the other fields. Returns any other line unchanged. */
export function readableLine(line: string): string {
  const { level, time, msg, err, ...fields } = parsed(line);
  const name = levels[Number(level)];
  if (name === undefined || typeof time !== 'string' || typeof msg !== 'string') return line;
  const cause = (err as { message?: string } | undefined)?.message ?? err;
  const others = Object.entries(fields).flatMap(([key, value]) =>
    left.has(key) ? [] : [`${key}=${typeof value === 'object' ? JSON.stringify(value) : value}`],
  );
  const text = cause === undefined ? msg : `${msg}: ${cause}`;
  return [time.slice(11, 19), name.padEnd(5), text, ...others].join(' ');
}

function parsed(line: string): Record<string, unknown> {
  if (!line.startsWith('{')) return {};
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return {}; // truncated, or not JSON
  }
}
