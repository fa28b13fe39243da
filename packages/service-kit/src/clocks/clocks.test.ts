import { randomUUID } from 'node:crypto';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Database } from '../database/database.ts';
import { createLogger } from '../telemetry/logging.ts';
import { uuidAt } from '../values/timed-ids.ts';
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
  it('are real time for accounts without a sandbox clock, and for work of no account', () => {
    const clocks = new Clocks(() => real);
    const account = randomUUID();
    expect(clocks.by(account, () => clocks.now())).toEqual(real);
    clocks.recordLead(randomUUID(), dayMs);
    expect([clocks.now(), clocks.by(account, () => clocks.now()), clocks.nowOf(account)]).toEqual([real, real, real]);
  });

  it('apply to everything that the work of an account starts, and to nothing else', async () => {
    const clocks = new Clocks(() => real);
    const [one, other] = [randomUUID(), randomUUID()];
    clocks.recordLead(one, dayMs);
    const read = async () => {
      await sql`select 1`;
      return clocks.now();
    };
    const [ofOne, ofOther] = await Promise.all([clocks.by(one, read), clocks.by(other, read)]);
    expect([ofOne, ofOther, clocks.now()]).toEqual([later(dayMs), real, real]);
    const nested = clocks.by(one, () => [clocks.by(other, () => clocks.now()), clocks.now()]);
    expect(nested).toEqual([real, later(dayMs)]);
  });

  it('only move forward, even if a move arrives late', () => {
    const clocks = new Clocks(() => real);
    const account = randomUUID();
    let moves = 0;
    clocks.onMove(() => moves++);
    for (const aheadMs of [2 * dayMs, dayMs, 2 * dayMs]) clocks.recordLead(account, aheadMs);
    expect([clocks.nowOf(account), moves]).toEqual([later(2 * dayMs), 1]);
  });

  it('never let work start earlier than its cause, even if a move is not known yet', () => {
    const clocks = new Clocks(() => real);
    const [account, other] = [randomUUID(), randomUUID()];
    const read = () => [clocks.now(), clocks.nowOf(account), clocks.nowOf(other), clocks.active];
    for (const knownMs of [0, dayMs]) {
      clocks.recordLead(account, knownMs);
      expect(clocks.by(account, read, 2 * dayMs)).toEqual([later(2 * dayMs), later(2 * dayMs), real, account]);
      expect(clocks.nowOf(account)).toEqual(later(knownMs));
    }
    clocks.recordLead(account, 3 * dayMs);
    expect(clocks.by(account, read, 2 * dayMs)[0]).toEqual(later(3 * dayMs));
    const nested = () => clocks.by(account, () => clocks.now());
    expect(clocks.by(account, nested, 4 * dayMs)).toEqual(later(4 * dayMs));
  });

  it('are learned from sandbox events by the lead of the timestamp over the id and the local time', () => {
    const clocks = new Clocks(() => real);
    const account = randomUUID();
    const idAt = (ms: number) => uuidAt(real.getTime() + ms).replace('-0000-0000-', '-7000-8000-');
    const event = { id: idAt(-5), account, mode: 'test' as const, timestamp: later(dayMs).toISOString() };
    expect(clocks.leadOfEvent(event)).toBe(dayMs);
    expect(clocks.leadOfEvent({ ...event, mode: 'live' })).toBe(0);
    // An event of a machine whose own time is wrong by a day.
    expect(clocks.leadOfEvent({ ...event, id: idAt(dayMs) })).toBe(0);
    for (const timestamp of [later(-dayMs).toISOString(), 'tomorrow']) {
      expect(clocks.leadOfEvent({ ...event, timestamp })).toBe(0);
    }
    expect(clocks.leadOfEvent({ ...event, id: randomUUID() })).toBe(0);
    clocks.recordLead(account, 2 * dayMs);
    expect(clocks.leadOfEvent(event)).toBe(2 * dayMs);
  });

  it('are known to a process that starts, and to one that rereads them after a missed move', async () => {
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
