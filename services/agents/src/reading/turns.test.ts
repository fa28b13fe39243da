import { describe, expect, it } from '@jest/globals';
import { type Share, Turns } from './turns.ts';

const never = new AbortController().signal;

/** When all that could begin has begun. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Work that ends when it is told to, and the order in which work began. */
function worklist(turns: Turns) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    begun,
    end: (name: string) => ends.get(name)!(),
    add: (name: string, share: Share, signal = never) =>
      turns.use(share, signal, () => {
        begun.push(name);
        return new Promise<string>((resolve) => ends.set(name, () => resolve(name)));
      }),
  };
}

describe('turns', () => {
  it('are had by so many at once, and next by whoever had them for the shortest time', async () => {
    const { begun, end, add } = worklist(new Turns(2));
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

  it('are given on by what fails, and not waited for by what was stopped', async () => {
    const turns = new Turns(1);
    const { begun, end, add } = worklist(turns);
    const share = { usedMs: 0 };
    await expect(turns.use(share, never, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    const first = add('1', share);
    const stop = new AbortController();
    const stopped = add('2', { usedMs: 0 }, stop.signal);
    const third = add('3', share);
    stop.abort(new Error('enough'));
    await expect(stopped).rejects.toThrow('enough');
    await expect(add('4', share, stop.signal)).rejects.toThrow('enough');
    await settled();
    end('1');
    await first;
    await settled();
    end('3');
    expect([await third, begun]).toEqual(['3', ['1', '3']]);
  });
});
