import { waitFor } from '@customer-platform/testkit';
import { atMost, exactly, type Figure, median, percentile, told } from './figures.ts';
import type { Receiver } from './harness.ts';

/** Longest wait for arrivals; whatever has not arrived by then is missing. */
const patienceMs = 20_000;

/** Delays of the arrivals, and the number of expected arrivals. */
export interface Round {
  delaysMs: number[];
  sent: number;
}

/**
 * Waits for arrivals at a receiver. `madeAt` maps ids to creation times in epoch milliseconds. `hung` is the number of arrivals at paths
 * with the prefix.
 */
export async function delaysAt(
  receiver: Receiver,
  madeAt: ReadonlyMap<string, number>,
  hangingPrefix = '/hang',
): Promise<Round & { hung: number }> {
  const delays = new Map<string, number>();
  let hung = 0;
  const allArrived = async () => {
    for (const { id, at, path } of await receiver.arrivals()) {
      if (path.startsWith(hangingPrefix)) hung++;
      const since = madeAt.get(id);
      if (since !== undefined && !delays.has(id)) delays.set(id, at - since);
    }
    return delays.size === madeAt.size;
  };
  await waitFor('all arrivals', allArrived, patienceMs).catch(() => undefined);
  return { delaysMs: [...delays.values()], sent: madeAt.size, hung };
}

/** Measures several kinds of rounds alternately, after one warm-up round of each; returns the rounds of each kind. */
export async function byTurns<Measured>(kinds: readonly (() => Promise<Measured>)[], rounds = 3) {
  for (const warmUp of kinds) await warmUp();
  const measured: Measured[][] = kinds.map(() => []);
  for (let round = 0; round < rounds; round++) {
    for (const [index, measure] of kinds.entries()) measured[index]!.push(await measure());
  }
  return measured as [Measured[], Measured[], Measured[]];
}

/** Returns the median of the rounds' percentiles. */
export function delayOf(measured: readonly Round[], share: number): number {
  return median(measured.map(({ delaysMs }) => percentile(delaysMs, share)));
}

/** Returns the figures of rounds in which a tenth of the load goes to a hanging target, compared with undisturbed rounds. */
export function disturbedFigures(where: string, disturbed: readonly Round[], calm: readonly Round[]): Figure[] {
  const others = `with 10 % of it ${where}, the others`;
  const p99 = delayOf(disturbed, 0.99);
  return [
    told(`${others}: p50`, delayOf(disturbed, 0.5), 'ms'),
    atMost(`${others}: p99 ÷ undisturbed`, p99 / delayOf(calm, 0.99), 2),
    told(`${others}: p99`, p99, 'ms'),
  ];
}

/** Returns the figure of how many of the rounds' events or messages have arrived. */
export function arrivedFigure(what: string, measured: readonly Round[]): Figure {
  const sent = measured.reduce((total, round) => total + round.sent, 0);
  const arrived = measured.reduce((total, round) => total + round.delaysMs.length, 0);
  return exactly(what, `${arrived} of ${sent}`, `${sent} of ${sent}`);
}

/** Returns the creation time of a version 7 UUID in epoch milliseconds. */
export const createdMs = (id: string) => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
