import { describe, expect, it } from '@jest/globals';
import { LargeBodies } from './large-bodies.ts';

describe('the turns of large bodies', () => {
  it('are a few at once, and fewer of one owner', async () => {
    const bodies = new LargeBodies({ bytes: 8, most: 3, mostOfOwner: 2, waitMs: 10_000 });
    const begun: string[] = [];
    const take = (owner: string) =>
      bodies.take(owner).then((turn) => {
        begun.push(owner);
        return turn;
      });
    const a = [take('a'), take('a'), take('a')];
    const [firstOfA, secondOfA] = await Promise.all([a[0]!, a[1]!]);
    expect(begun).toEqual(['a', 'a']);
    const turnOfB = await take('b');
    const c = take('c');
    turnOfB.end();
    await c;
    expect(begun).toEqual(['a', 'a', 'b', 'c']);
    firstOfA!.end();
    await a[2];
    secondOfA!.end();
    expect(begun).toEqual(['a', 'a', 'b', 'c', 'a']);
  });

  it('are refused where they do not come in time, and nothing is held by one that was', async () => {
    const bodies = new LargeBodies({ bytes: 8, most: 1, mostOfOwner: 1, waitMs: 20 });
    const first = await bodies.take('a');
    await expect(bodies.take('b')).rejects.toMatchObject({ code: 'service_unavailable', status: 503 });
    first.end();
    const next = await bodies.take('c');
    next.end();
  });

  it('have spaces of their own, which the next ones use again', async () => {
    const bodies = new LargeBodies({ bytes: 8, most: 2, mostOfOwner: 2, waitMs: 10_000 });
    const [first, second] = [await bodies.take('a'), await bodies.take('a')];
    const spaces = [first.space(), second.space()];
    expect([spaces[0]!.length, spaces[0] === spaces[1], first.space() === spaces[0]]).toEqual([8, false, true]);
    second.end();
    expect((await bodies.take('b')).space()).toBe(spaces[1]);
  });
});
