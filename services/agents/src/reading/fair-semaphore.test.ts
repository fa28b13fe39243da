import { describe, expect, it } from '@jest/globals';
import { FairSemaphore, type Usage } from './fair-semaphore.ts';

const never = new AbortController().signal;

/** Resolves once all work that has a permit has begun. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Returns work that ends on command, and the order in which it began. */
function worklist(semaphore: FairSemaphore) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    begun,
    end: (name: string) => ends.get(name)!(),
    add: (name: string, usage: Usage, signal = never) =>
      semaphore.use(usage, signal, () => {
        begun.push(name);
        return new Promise<string>((resolve) => ends.set(name, () => resolve(name)));
      }),
  };
}

describe('permits', () => {
  it('are held by so many at once, and go next to whoever held them for the shortest time', async () => {
    const { begun, end, add } = worklist(new FairSemaphore(2));
    const [long, short] = [{ usedMs: 5_000 }, { usedMs: 20 }];
    const running = [add('1', long), add('2', long), add('3', long), add('4', short), add('5', short)];
    await settled();
    expect(begun).toEqual(['1', '2']);
    end('1');
    await settled();
    expect(begun).toEqual(['1', '2', '4']);
    end('4');
    await settled();
    expect(begun.at(-1)).toBe('5');
    end('2');
    await settled();
    expect(begun).toEqual(['1', '2', '4', '5', '3']);
    expect(long.usedMs).toBeGreaterThan(5_000);
    for (const name of ['3', '5']) end(name);
    expect(await Promise.all(running)).toEqual(['1', '2', '3', '4', '5']);
  });

  it('are released by work that fails, and not acquired by work that was stopped', async () => {
    const semaphore = new FairSemaphore(1);
    const { begun, end, add } = worklist(semaphore);
    const usage = { usedMs: 0 };
    await expect(semaphore.use(usage, never, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    const first = add('1', usage);
    const stop = new AbortController();
    const stopped = add('2', { usedMs: 0 }, stop.signal);
    const third = add('3', usage);
    stop.abort(new Error('enough'));
    await expect(stopped).rejects.toThrow('enough');
    await expect(add('4', usage, stop.signal)).rejects.toThrow('enough');
    await settled();
    end('1');
    await first;
    await settled();
    end('3');
    expect([await third, begun]).toEqual(['3', ['1', '3']]);
  });
});
