import { describe, expect, it } from '@jest/globals';
import { LargeBodies } from './large-bodies.ts';

describe('the turns of large bodies', () => {
  it('are a few at once, and fewer of one account', async () => {
    const bodies = new LargeBodies({ most: 3, mostOfAccount: 2, waitMs: 10_000 });
    const begun: string[] = [];
    const take = (account: string) =>
      bodies.take(account).then((end) => {
        begun.push(account);
        return end;
      });
    const a = [take('a'), take('a'), take('a')];
    const [firstOfA, secondOfA] = await Promise.all([a[0]!, a[1]!]);
    expect(begun).toEqual(['a', 'a']);
    const endOfB = await take('b');
    const c = take('c');
    endOfB();
    await c;
    expect(begun).toEqual(['a', 'a', 'b', 'c']);
    firstOfA();
    await a[2];
    secondOfA();
    expect(begun).toEqual(['a', 'a', 'b', 'c', 'a']);
  });

  it('are refused where they do not come in time, and nothing is held by one that was', async () => {
    const bodies = new LargeBodies({ most: 1, mostOfAccount: 1, waitMs: 20 });
    const end = await bodies.take('a');
    await expect(bodies.take('b')).rejects.toMatchObject({ code: 'service_unavailable', status: 503 });
    end();
    const next = await bodies.take('c');
    next();
  });
});
