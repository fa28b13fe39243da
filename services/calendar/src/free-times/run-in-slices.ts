import { setImmediate as yieldToEventLoop } from 'node:timers/promises';

/** Milliseconds of calculation after which the event loop gets a turn. */
const sliceMs = 10;

/**
 * Runs a calculation in pieces of a few milliseconds and returns their results. Yields to the event loop after every 10 ms. Rethrows the error of a
 * piece.
 */
export async function runInSlices<Piece>(pieces: Iterable<Piece>): Promise<Piece[]> {
  const done: Piece[] = [];
  let untilMs = performance.now() + sliceMs;
  for (const piece of pieces) {
    done.push(piece);
    if (performance.now() < untilMs) continue;
    await yieldToEventLoop();
    untilMs = performance.now() + sliceMs;
  }
  return done;
}
