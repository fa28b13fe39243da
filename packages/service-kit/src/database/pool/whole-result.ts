/** Rows of a statement as postgres.js returns them; `command` is what PostgreSQL said that it has completed. */
interface Rows extends Array<unknown> {
  command: string | null;
}

/** The connection of a statement ended before its result was whole. */
class ResultBrokenOff extends Error {
  readonly code = 'CONNECTION_CLOSED';

  constructor() {
    super('the connection of this statement ended before its result was whole');
  }
}

/**
 * Takes a result of the driver: returns an error where it is not whole, and closes the gap at its front. The driver keeps two things of a statement that broke off for the
 * next one on its connection, or on the one that takes its place: how many rows had come, so that the next has as many places more in front; and, where a URL has
 * several hosts, the statement itself, which the beginning of the next connection then ends as if it were done.
 *
 * @param value an array of rows, or several of a simple statement; anything else is left as it is
 */
export function faultOf(value: unknown): Error | undefined {
  if (!Array.isArray(value)) return undefined;
  const results = 'command' in value ? [value as Rows] : (value as Rows[]);
  if (results.at(-1)?.command === null) return new ResultBrokenOff();
  for (const rows of results) closeGap(rows);
  return undefined;
}

function closeGap(rows: Rows): void {
  if (rows.length === 0 || 0 in rows) return;
  let first = 0;
  while (first < rows.length && !(first in rows)) first++;
  rows.copyWithin(0, first);
  rows.length -= first;
}
