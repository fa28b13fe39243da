import { describe, expect, it } from '@jest/globals';
import { PositionQueue } from './position-queue.ts';
import type { Position } from './streaming.sql.ts';

const stream = (accountId: string, after: number, types = ['*']): Position => ({ accountId, after, types });
const streams = (accountId: string, count: number) =>
  Array.from({ length: count }, (_, after) => stream(accountId, after));

function queueOf(...waiting: Position[]): PositionQueue<Position> {
  const queue = new PositionQueue();
  for (const one of waiting) queue.add(one);
  return queue;
}

/** Takes once, and returns the positions as strings. */
const take = (queue: PositionQueue<Position>) => queue.take().map(([one]) => `${one!.accountId} ${one!.after}`);

const places = (accountId: string, from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => `${accountId} ${from + index}`);

describe('the queue of positions', () => {
  it('returns sixteen positions of an account that waits alone', () => {
    const queue = queueOf(...streams('a', 20));
    expect([take(queue), queue.isEmpty]).toEqual([places('a', 0, 15), false]);
    expect([take(queue), queue.isEmpty]).toEqual([places('a', 16, 19), true]);
    expect(take(queue)).toEqual([]);
  });

  it('returns at most four positions of an account while others wait', () => {
    const queue = queueOf(...streams('a', 20), ...streams('b', 5));
    expect(take(queue)).toEqual([...places('a', 0, 3), ...places('b', 0, 3)]);
    expect(take(queue)).toEqual([...places('a', 4, 7), 'b 4']);
    expect(take(queue)).toEqual(places('a', 8, 19));
  });

  it('gives every account a turn before any gets its next', () => {
    const accounts = Array.from({ length: 20 }, (_, index) => `account-${index}`);
    const queue = queueOf(...accounts.flatMap((account) => streams(account, 3)));
    const first = accounts.map((account) => `${account} 0`);
    const second = accounts.map((account) => `${account} 1`);
    expect([...take(queue), ...take(queue)]).toEqual([...first, ...second].slice(0, 32));
  });

  it('puts a stream that is added again behind the others of its account', () => {
    const queue = queueOf(...streams('a', 6), stream('b', 0));
    expect(take(queue)).toEqual([...places('a', 0, 3), 'b 0']);
    queue.add(stream('a', 200));
    queue.add(stream('b', 200));
    expect(take(queue)).toEqual(['a 4', 'a 5', 'a 200', 'b 200']);
  });

  it('returns the streams of a position together, and drops removed ones', () => {
    const alike = [stream('a', 1), stream('a', 1), stream('a', 1)];
    const others = [stream('a', 1, ['deal.*']), stream('b', 1)];
    const queue = queueOf(...alike, ...others);
    queue.remove(alike[1]!);
    queue.remove(others[1]!);
    expect(queue.take()).toEqual([[alike[0], alike[2]], [others[0]]]);
    expect(queue.isEmpty).toBe(true);
    queue.add(alike[0]!);
    queue.remove(alike[1]!);
    queue.remove(alike[0]!);
    queue.remove(alike[0]!);
    expect(queue.isEmpty).toBe(true);
  });
});
