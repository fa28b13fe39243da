import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Lane } from './claims.sql.ts';
import { Lanes } from './lanes.ts';

const lane: Lane = { account_id: randomUUID(), channel: 'sms' };
const freeOf = (lanes: Lanes, { account_id, channel }: Lane) =>
  lanes.known().find((one) => one.account_id === account_id && one.channel === channel)?.free ?? lanes.freeOfOthers;
const take = (lanes: Lanes, of: Lane, count: number) => {
  for (let index = 0; index < count; index++) lanes.begin(of);
};

describe('a lane', () => {
  it('begins with few tries and earns more by each answer, up to its most', () => {
    const lanes = new Lanes(32);
    expect(freeOf(lanes, lane)).toBe(8);
    take(lanes, lane, 8);
    expect(freeOf(lanes, lane)).toBe(0);
    for (let index = 0; index < 40; index++) {
      lanes.end(lane, true);
      lanes.begin(lane);
    }
    take(lanes, lane, 20);
    expect(freeOf(lanes, lane)).toBe(4);
  });

  it('whose provider hangs is left two tries, and earns the others again', () => {
    const lanes = new Lanes(32);
    take(lanes, lane, 8);
    for (let index = 0; index < 8; index++) lanes.end(lane, false);
    expect(freeOf(lanes, lane)).toBe(2);
    for (let index = 0; index < 6; index++) {
      lanes.begin(lane);
      lanes.end(lane, true);
    }
    expect([freeOf(lanes, lane), lanes.known()]).toEqual([8, []]);
  });

  it('costs no other one anything', () => {
    const lanes = new Lanes(32);
    take(lanes, lane, 8);
    expect([
      freeOf(lanes, { ...lane, channel: 'email' }),
      freeOf(lanes, { ...lane, account_id: randomUUID() }),
    ]).toEqual([8, 8]);
  });

  it('never has more than the operator says', () => {
    const lanes = new Lanes(1);
    expect(freeOf(lanes, lane)).toBe(1);
    lanes.begin(lane);
    lanes.end(lane, false);
    expect(freeOf(lanes, lane)).toBe(1);
  });
});

it('very many lanes that hang take a bounded memory', () => {
  const lanes = new Lanes(32);
  for (let index = 0; index < 3_000; index++) {
    const other: Lane = { account_id: randomUUID(), channel: 'email' };
    lanes.begin(other);
    lanes.end(other, false);
  }
  expect(lanes.known().length).toBe(1_000);
});
