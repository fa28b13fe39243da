/** Output of the launcher: lines and, on a terminal, one status below them. The next line or status replaces the status. */
export interface Terminal {
  write(line: string): void;
  /** Shows which of `all` processes of a group are not ready. Output that is not a terminal gets this once, as a line. */
  starting(waiting: string[], all: number): void;
}

/** @param stream standard output; only a TTY allows to replace the status, which is cut to its columns */
export function createTerminal(stream: { isTTY?: boolean; columns?: number; write(text: string): unknown }): Terminal {
  const clear = stream.isTTY ? '\r\x1b[K' : '';
  return {
    write: (line) => void stream.write(`${clear}${line}\n`),
    starting(waiting, all) {
      const ready = all - waiting.length;
      const text = `Starting ${waiting.join(', ')}${ready > 0 ? ` (${ready} of ${all} ready)` : ''}`;
      if (stream.isTTY) stream.write(clear + text.slice(0, (stream.columns || 80) - 1));
      else if (ready === 0) stream.write(`${text}\n`);
    },
  };
}
