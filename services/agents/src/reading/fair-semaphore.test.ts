import { waitFor } from '@customer-platform/testkit';
import { describe, expect, it } from '@jest/globals';
import { Debts } from './debts.ts';
import { FairSemaphore, type Permits } from './fair-semaphore.ts';

const never = new AbortController().signal;

/** Resolves once all work with a permit has begun. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Returns a semaphore with work that ends on command, and the order in which work began. `owed` is the ms that owners held permits. */
function worklist(permits: Permits, owed: Record<string, number> = {}, ready: readonly string[] = []) {
  const debts = new Debts(10);
  for (const [owner, ms] of Object.entries(owed)) debts.add(owner, ms);
  const semaphore = new FairSemaphore(permits, { debts, isReady: (owner) => ready.includes(owner) });
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    semaphore,
    debts,
    begun,
    end: async (name: string) => {
      ends.get(name)!();
      await settled();
    },
    add: (name: string, owner: string, signal = never) =>
      semaphore.use(owner, signal, () => {
        begun.push(name);
        return new Promise<string>((resolve) => ends.set(name, () => resolve(name)));
      }),
  };
}

describe('permits', () => {
  it('are limited in number, and go next to the owner that recently held them for the shortest time', async () => {
    const { begun, end, add, debts } = worklist({ most: 2 }, { ada: 4_000, bo: 20 });
    const running = [add('1', 'ada'), add('2', 'ada'), add('3', 'ada'), add('4', 'bo'), add('5', 'bo')];
    await settled();
    expect(begun).toEqual(['1', '2']);
    await end('1');
    expect(begun).toEqual(['1', '2', '4']);
    await end('4');
    expect(begun.at(-1)).toBe('5');
    await end('2');
    expect(begun).toEqual(['1', '2', '4', '5', '3']);
    expect(debts.of('ada')).toBeGreaterThan(3_000);
    for (const name of ['3', '5']) await end(name);
    expect(await Promise.all(running)).toEqual(['1', '2', '3', '4', '5']);
  });

  it('stay with a ready owner until it has held them 2 s longer than another', async () => {
    const { begun, end, add, debts } = worklist({ most: 1 }, { ada: 1_000 }, ['ada']);
    const running = [add('1', 'ada'), add('2', 'bo'), add('3', 'ada'), add('4', 'ada')];
    await settled();
    await end('1');
    expect(begun).toEqual(['1', '3']);
    debts.add('ada', 1_500);
    for (const name of ['3', '2', '4']) await end(name);
    expect(begun).toEqual(['1', '3', '2', '4']);
    expect(await Promise.all(running)).toEqual(['1', '2', '3', '4']);
  });

  it('are reserved for owners that recently held them for a short time', async () => {
    const { begun, end, add } = worklist({ most: 3, kept: 1 }, { ada: 100_000, bo: 90_000 });
    const running = [add('1', 'ada'), add('2', 'bo'), add('3', 'ada'), add('4', 'cy')];
    await settled();
    expect(begun).toEqual(['1', '2', '4']);
    await end('4');
    expect(begun).toEqual(['1', '2', '4']);
    await end('1');
    expect(begun).toEqual(['1', '2', '4', '3']);
    await end('2');
    await end('3');
    expect(await Promise.all(running)).toEqual(['1', '2', '3', '4']);
  });

  it('go to a waiter beside a free one once the holders have held theirs twice as long, even without a release', async () => {
    const { begun, end, add } = worklist({ most: 2, kept: 1 }, { ada: 11_500, bo: 6_000 });
    const running = [add('1', 'ada'), add('2', 'bo')];
    await waitFor('the second', () => begun.length === 2);
    for (const name of ['1', '2']) await end(name);
    expect(await Promise.all(running)).toEqual(['1', '2']);
  });

  it('are released by failed work, and not acquired by aborted work', async () => {
    const { semaphore, begun, end, add } = worklist({ most: 1 });
    await expect(semaphore.use('ada', never, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    const first = add('1', 'ada');
    const stop = new AbortController();
    const stopped = add('2', 'ada', stop.signal);
    const third = add('3', 'ada');
    stop.abort(new Error('enough'));
    await expect(stopped).rejects.toThrow('enough');
    await expect(add('4', 'ada', stop.signal)).rejects.toThrow('enough');
    await settled();
    await end('1');
    await first;
    await end('3');
    expect([await third, begun]).toEqual(['3', ['1', '3']]);
  });
});
