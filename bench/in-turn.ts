import { closedLoop } from './load.ts';

/** Kind of call; its requests may differ. */
export interface Kind {
  what: string;
  request(index: number): Buffer;
  /** Rows that the response of a list must have for a valid measurement. */
  rows?: number;
}

/** Milliseconds that the counted calls of one kind may take in total: a slow kind is measured with fewer calls. */
const patienceMs = 5_000;

/**
 * Sends calls of all kinds in turn, one at a time, so that they share the caches, and a prepared plan must suit the values of every filter.
 * The first `warming` calls of each kind are not counted. Returns the counted latencies by kind, in order. Throws if a response is not 2xx or a
 * list does not have the expected number of rows.
 */
export async function inTurn(
  url: string,
  kinds: readonly Kind[],
  { warming, counted }: { warming: number; counted: number },
): Promise<number[][]> {
  const all = kinds.map((kind) => ({ kind, sent: 0, latenciesMs: [] as number[], spentMs: 0 }));
  const waiting = [...all];
  let current: (typeof all)[number] | undefined;
  await closedLoop({
    url,
    connections: 1,
    next() {
      current = waiting.shift();
      return current?.kind.request(current.sent++);
    },
    onResponse({ status, body, ms }) {
      const { kind, sent, latenciesMs } = current!;
      const isMade = status >= 200 && status < 300;
      const rows = isMade && kind.rows !== undefined ? JSON.parse(body.toString()).data.length : undefined;
      if (!isMade || rows !== kind.rows)
        throw new Error(
          `${kind.what}: ${kind.rows ?? 'no'} rows were expected, the response was ${status}: ${body.toString().slice(0, 300)}`,
        );
      if (sent > warming) {
        latenciesMs.push(ms);
        current!.spentMs += ms;
      }
      if (sent < warming + counted && current!.spentMs <= patienceMs) waiting.push(current!);
    },
  });
  return all.map(({ latenciesMs }) => latenciesMs);
}
