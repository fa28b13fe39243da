/** What `work` answers, or an Error once `limitMs` have passed; the work itself goes on and its outcome is dropped. */
export async function within<Result>(limitMs: number, work: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new TooSlow(limitMs)), limitMs);
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
