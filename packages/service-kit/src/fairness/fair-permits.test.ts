import { ServerResponse } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { ClientGone, FairPermits, PermitQueue } from './fair-permits.ts';

const response = () => new ServerResponse({ method: 'GET' } as never);
const noTimeMs = 600_000;

function most(permits: FairPermits, owner: string): number {
  let held = 0;
  while (permits.tryTake(owner)) held++;
  return held;
}

describe('permits', () => {
  it('depend on what is free: one owner gets half, the next half of the rest, and an owner without any gets one', () => {
    const permits = new FairPermits(256);
    expect(most(permits, 'a')).toBe(128);
    expect(most(permits, 'b')).toBe(64);
    for (let owner = 0; owner < 5; owner++) most(permits, `greedy-${owner}`);
    expect(permits.tryTake('modest')).toBe(true);
  });

  it('with a ratio of 1/3 give one owner alone a quarter', () => {
    expect(most(new FairPermits(400, 1 / 3), 'a')).toBe(100);
    expect(new FairPermits(400, 1 / 3).tryTake('a', 134)).toBe(false);
  });
});

describe('the queue for permits', () => {
  it('gives returned permits to owners in turn', async () => {
    const queue = new PermitQueue(new FairPermits(3), 100, noTimeMs);
    expect([queue.tryTake('a'), queue.tryTake('b'), queue.tryTake('a')]).toEqual([true, true, false]);
    const order: string[] = [];
    const wait = async (owner: string, name: string) => {
      await queue.wait(owner, 'it', response());
      order.push(name);
    };
    const all = [wait('a', 'a1'), wait('a', 'a2'), wait('b', 'b1')];
    queue.release('a');
    await all[0];
    queue.release('b');
    await all[2];
    queue.release('a');
    await all[1];
    expect(order).toEqual(['a1', 'b1', 'a2']);
  });

  it('rejects an owner with 429 if its own requests hold the permits and with 503 if others do, and forgets clients that disconnect', async () => {
    const queue = new PermitQueue(new FairPermits(2), 4, noTimeMs);
    expect(queue.tryTake('a')).toBe(true);
    const gone = response();
    const waiting = queue.wait('a', 'it', gone);
    const second = queue.wait('a', 'it', response());
    await expect(queue.wait('a', 'it', response())).rejects.toMatchObject({ status: 429, code: 'rate_limited' });
    gone.emit('close');
    await expect(waiting).rejects.toThrow(ClientGone);
    queue.release('a');
    await second;
    queue.release('a');
    expect(queue.tryTake('a')).toBe(true);

    const work = { begun: 0 };
    queue.release('a');
    const closed = Object.create(response(), { closed: { value: true } }) as ServerResponse;
    await expect(queue.use('a', 'it', async () => void work.begun++, closed)).rejects.toThrow(ClientGone);
    await queue.use('a', 'it', async () => void work.begun++, response());
    expect(work.begun).toBe(1);

    const late = new PermitQueue(new FairPermits(1), 4, 1);
    expect(late.tryTake('a')).toBe(true);
    await expect(late.wait('b', 'it', response())).rejects.toMatchObject({ status: 503 });
    await expect(late.wait('a', 'it', response())).rejects.toMatchObject({ status: 429 });
  });
});
