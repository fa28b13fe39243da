/**
 * Returns a function that runs `work` for everybody who calls it, one run at a time: those who call during a run share the next one, so
 * that each gets what was so after its call, and many calls cost no more than two runs. It rejects as its run does.
 */
export function coalesced<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<Result> | undefined;
  return () => {
    next ??= running
      .catch(() => undefined)
      .then(() => {
        running = next!;
        next = undefined;
        return work();
      });
    return next;
  };
}
