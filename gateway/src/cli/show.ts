import { type Command, commands, flagName } from './commands.ts';

/** Formats a response body for people: a table for a list, else a line per field. */
export function show(body: unknown): string {
  if (body === undefined) return 'done';
  const page = body as { data?: Record<string, unknown>[]; next?: string | null };
  if (!Array.isArray(page.data)) return fields(body as Record<string, unknown>);
  if (page.data.length === 0) return 'none';
  const more = page.next ? `\nmore: --starting-after ${page.next}` : '';
  return table(page.data) + more;
}

/** Returns the tool's usage: all commands, or one with its flags. */
export function usage(command?: Command): string {
  if (command) {
    const flags = command.flags.map((flag) => {
      const name = `--${flagName(flag.field)}${flag.isRequired ? ' *' : ''}`;
      return `  ${name.padEnd(24)} ${flag.kind.padEnd(8)} ${flag.description}`.trimEnd();
    });
    const { summary, description } = command.operation;
    return [synopsis(command), `  ${summary}`, ...(description ? [`  ${description}`] : []), ...flags].join('\n');
  }
  const lines = commands.map((each) => `  ${synopsis(each).padEnd(48)} ${each.operation.summary}`);
  return [
    'admin <noun> <verb> [arguments] [--flags] [--json] [--help]',
    ...lines,
    '',
    'ADMIN_URL (or ADMIN_PORT) and ADMIN_TOKEN set the address and the token; without them, those of a running npm start are read from .platform/.',
  ].join('\n');
}

function synopsis({ noun, verb, parameters }: Command): string {
  return [noun, verb, ...parameters.map((name) => `<${name}>`)].join(' ');
}

function fields(thing: Record<string, unknown>): string {
  const width = Math.max(...Object.keys(thing).map((name) => name.length));
  return Object.entries(thing)
    .map(([name, value]) => `${name.padEnd(width)}  ${cell(value)}`)
    .join('\n');
}

function table(rows: Record<string, unknown>[]): string {
  const names = Object.keys(rows[0]!).filter((name) => rows.some((row) => !isNested(row[name])));
  const lines = [names, ...rows.map((row) => names.map((name) => cell(row[name])))];
  const widths = names.map((_name, column) => Math.max(...lines.map((line) => line[column]!.length)));
  return lines
    .map((line) =>
      line
        .map((text, column) => text.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.join(',');
  return isNested(value) ? JSON.stringify(value) : String(value);
}

function isNested(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
