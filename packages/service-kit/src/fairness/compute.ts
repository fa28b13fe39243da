import type { ServerResponse } from 'node:http';
import { setImmediate as letOthersGoOn } from 'node:timers/promises';
import { ClientGone } from './fair-permits.ts';
import { WorkMeter } from './work-meter.ts';

/**
 * Goes through a calculation over what an account stores, and returns what its pieces give, each of which takes some milliseconds at most. Others' requests
 * go on in between, and an account whose calculations are dear waits with its next. Throws what a piece throws, and ClientGone where nobody
 * waits for the response any more.
 */
export type Compute = <Piece>(pieces: Iterable<Piece>) => Promise<Piece[]>;

/** Time for which pieces are calculated without a break. */
const stretchMs = 10;

/** Calculations of this process; an owner's alone use at most a third of the event loop. */
const processMeter = new WorkMeter({ freeMs: 20, restRatio: 2 });

/** The owner that pays for a calculation, and the response that somebody waits for. */
interface Customer {
  owner: string;
  response: Pick<ServerResponse, 'closed'>;
}

/** Does what `Compute` says. */
export async function computed<Piece>(
  pieces: Iterable<Piece>,
  { owner, response }: Customer,
  meter = processMeter,
): Promise<Piece[]> {
  const given: Piece[] = [];
  const iterator = pieces[Symbol.iterator]();
  const isDone = () => {
    if (response.closed) throw new ClientGone();
    return isDoneAfterStretch(iterator, given);
  };
  while (!(await meter.result(owner, isDone))) await letOthersGoOn();
  return given;
}

/** Waits until an account has rested from calculations that were dear: before something that is paid for once it is done. Throws what `computed` does of its own. */
export async function rested({ owner, response }: Customer, meter = processMeter): Promise<void> {
  await meter.result(owner, () => {
    if (response.closed) throw new ClientGone();
  });
}

/** Returns the response to a read as JSON, at once: a page of 2 MiB takes ten milliseconds, and its account pays for it as for calculations. */
export function stringified(response: unknown, owner: string, meter = processMeter): string {
  return meter.atOnce(owner, () => JSON.stringify(response));
}

function isDoneAfterStretch<Piece>(iterator: Iterator<Piece>, given: Piece[]): boolean {
  const untilMs = performance.now() + stretchMs;
  do {
    const { done, value } = iterator.next();
    if (done) return true;
    given.push(value);
  } while (performance.now() < untilMs);
  return false;
}
