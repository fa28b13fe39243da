import { describe, expect, it } from '@jest/globals';
import { LargeBodyPermits } from './large-body-permits.ts';

/** Returns how to acquire permits, and whose have begun so far. */
function recorded(bodies: LargeBodyPermits) {
  const begun: string[] = [];
  const acquire = async (owner: string) => {
    const permit = await bodies.acquire(owner);
    begun.push(owner);
    return permit;
  };
  return { begun, acquire };
}

describe('permits for large bodies', () => {
  it('are a few at once, and fewer of one owner', async () => {
    const bodies = new LargeBodyPermits({ bytes: 8, permits: 3, permitsPerOwner: 2, waitMs: 10_000 });
    const { begun, acquire } = recorded(bodies);
    const a = [acquire('a'), acquire('a'), acquire('a')];
    const [firstOfA, secondOfA] = await Promise.all([a[0]!, a[1]!]);
    expect(begun).toEqual(['a', 'a']);
    const permitOfB = await acquire('b');
    const c = acquire('c');
    permitOfB.release();
    await c;
    expect(begun).toEqual(['a', 'a', 'b', 'c']);
    firstOfA!.release();
    await a[2];
    secondOfA!.release();
    expect(begun).toEqual(['a', 'a', 'b', 'c', 'a']);
  });

  it('go to an owner who has none before others who came earlier', async () => {
    const bodies = new LargeBodyPermits({ bytes: 8, permits: 4, permitsPerOwner: 2, waitMs: 10_000 });
    const { begun, acquire } = recorded(bodies);
    const ofA = [acquire('a'), acquire('a'), acquire('a')];
    const ofB = [acquire('b'), acquire('b'), acquire('b')];
    const [first] = await Promise.all([...ofA.slice(0, 2), ...ofB.slice(0, 2)]);
    const ofC = acquire('c');
    first!.release();
    const permitOfC = await ofC;
    expect(begun).toEqual(['a', 'a', 'b', 'b', 'c']);
    permitOfC.release();
    await ofA[2];
    (await ofB[0]!).release();
    await ofB[2];
    expect(begun.slice(5)).toEqual(['a', 'b']);
  });

  it('are refused where they do not come in time, and nothing is held by one that was', async () => {
    const bodies = new LargeBodyPermits({ bytes: 8, permits: 1, permitsPerOwner: 1, waitMs: 20 });
    const first = await bodies.acquire('a');
    await expect(bodies.acquire('b')).rejects.toMatchObject({ code: 'service_unavailable', status: 503 });
    first.release();
    const next = await bodies.acquire('c');
    next.release();
  });

  it('have buffers of their own, which the next ones use again', async () => {
    const bodies = new LargeBodyPermits({ bytes: 8, permits: 2, permitsPerOwner: 2, waitMs: 10_000 });
    const [first, second] = [await bodies.acquire('a'), await bodies.acquire('a')];
    const buffers = [first.buffer(), second.buffer()];
    expect([buffers[0]!.length, buffers[0] === buffers[1], first.buffer() === buffers[0]]).toEqual([8, false, true]);
    second.release();
    expect((await bodies.acquire('b')).buffer()).toBe(buffers[1]);
  });
});
