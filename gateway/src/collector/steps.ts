import { setImmediate as immediate } from 'node:timers/promises';

/** Work that is done bit by bit: each step is bounded, whatever a sender made of its export. */
export type Steps<Result> = Generator<undefined, Result, undefined>;

/** Bytes of an export that one step reads, and objects and lists that it parses: a few milliseconds, whatever a sender makes of them. */
export const stepBytes = 65_536;
export const stepNodes = 2_048;

/** Does work with the event loop's other work between its steps. `charge` is told what each took, in milliseconds. */
export async function inSteps<Result>(steps: Steps<Result>, charge: (ms: number) => void): Promise<Result> {
  for (;;) {
    const beganMs = performance.now();
    let step: IteratorResult<undefined, Result>;
    try {
      step = steps.next();
    } finally {
      charge(performance.now() - beganMs);
    }
    if (step.done) return step.value;
    await immediate();
  }
}

/** Does work at once; returns its result. */
export function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}
