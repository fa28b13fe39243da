import { randomUUID } from 'node:crypto';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Database } from '../database.ts';
import { createLogger } from '../logging.ts';
import { writeClock } from './clocks.sql.ts';
import { Clocks } from './clocks.ts';

const dayMs = 86_400_000;
const real = new Date('2026-11-20T09:00:00Z');
const later = (ms: number) => new Date(real.getTime() + ms);

let platform: Platform;
let sql: Database;
beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
  sql = platform.database('crm');
});
afterAll(() => platform?.stop());

describe('clocks', () => {
  it('are the real time for all whose clock never moved, and for work that is nobody’s', () => {
    const clocks = new Clocks(() => real);
    const account = randomUUID();
    expect(clocks.by(account, () => clocks.now())).toEqual(real);
    clocks.learn(randomUUID(), dayMs);
    expect([clocks.now(), clocks.by(account, () => clocks.now()), clocks.nowOf(account)]).toEqual([real, real, real]);
  });

  it('are read by all that the work of an account begins, and by nothing else', async () => {
    const clocks = new Clocks(() => real);
    const [one, other] = [randomUUID(), randomUUID()];
    clocks.learn(one, dayMs);
    const read = async () => {
      await sql`select 1`;
      return clocks.now();
    };
    const [ofOne, ofOther] = await Promise.all([clocks.by(one, read), clocks.by(other, read)]);
    expect([ofOne, ofOther, clocks.now()]).toEqual([later(dayMs), real, real]);
    const nested = clocks.by(one, () => [clocks.by(other, () => clocks.now()), clocks.now()]);
    expect(nested).toEqual([real, later(dayMs)]);
  });

  it('only move forward, whatever comes late', () => {
    const clocks = new Clocks(() => real);
    const account = randomUUID();
    let moves = 0;
    clocks.onMove(() => moves++);
    for (const aheadMs of [2 * dayMs, dayMs, 2 * dayMs]) clocks.learn(account, aheadMs);
    expect([clocks.nowOf(account), moves]).toEqual([later(2 * dayMs), 1]);
  });

  it('translate the time of one account’s work into that of another', () => {
    const clocks = new Clocks(() => real);
    const [one, other] = [randomUUID(), randomUUID()];
    clocks.learn(one, dayMs);
    clocks.by(one, () => {
      expect([clocks.translated(clocks.now(), one), clocks.translated(clocks.now(), other)]).toEqual([
        later(dayMs),
        real,
      ]);
    });
    expect(clocks.translated(real, one)).toEqual(later(dayMs));
  });

  it('split items of accounts with clocks from all others, each part in its order', () => {
    const clocks = new Clocks(() => real);
    expect(clocks.split(['b', 'a'], (item) => item)).toEqual([['b', 'a']]);
    clocks.learn('c', dayMs);
    expect(clocks.split(['b1', 'c1', 'a1', 'c2', 'b2'], ([account]) => account!)).toEqual([
      ['b1', 'a1', 'b2'],
      ['c1', 'c2'],
    ]);
  });

  it('are known to a process that starts, and to one that missed a move and reads them again', async () => {
    const [before, after] = [randomUUID(), randomUUID()];
    await writeClock(sql, before, dayMs);
    const clocks = new Clocks();
    await clocks.start(sql, createLogger('test', 'silent'));
    try {
      expect(clocks.ownerOf(before)).toBe(before);
      await writeClock(sql, after, dayMs);
      await writeClock(sql, after, dayMs / 2);
      clocks.refresh();
      await waitFor('the move', () => clocks.ownerOf(after));
      expect(clocks.nowOf(after).getTime() - clocks.real().getTime()).toBeGreaterThan(dayMs - 1_000);
    } finally {
      await clocks.stop();
    }
  });
});
