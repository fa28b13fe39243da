import { setImmediate as letOthersGoOn } from 'node:timers/promises';

/** Time for which pieces are calculated without a break. */
const stretchMs = 10;

/**
 * Goes through a calculation over what an account stores, and returns what its pieces return, each of which takes some milliseconds at most. The
 * event loop does its other work every 10 ms. Throws what a piece throws.
 */
export async function inStretches<Piece>(pieces: Iterable<Piece>): Promise<Piece[]> {
  const done: Piece[] = [];
  let untilMs = performance.now() + stretchMs;
  for (const piece of pieces) {
    done.push(piece);
    if (performance.now() < untilMs) continue;
    await letOthersGoOn();
    untilMs = performance.now() + stretchMs;
  }
  return done;
}
