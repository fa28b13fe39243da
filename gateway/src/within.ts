/**
 * What `work` answers, or a TooSlow once `limitMs` have passed; the work itself goes on and its outcome is dropped.
 * An answer that arrived while this process was busy with something else counts as in time: it is looked for before giving up.
 */
export async function within<Result>(limitMs: number, work: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => setImmediate(() => reject(new TooSlow(limitMs))), limitMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** An answer that did not come in time. */
export class TooSlow extends Error {
  constructor(limitMs: number) {
    super(`no answer within ${limitMs} ms`);
  }
}
