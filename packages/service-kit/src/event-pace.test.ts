import { expect, it } from '@jest/globals';
import { EventPace } from './event-pace.ts';
import { createLogger } from './logging.ts';

const [one, other] = ['019a0000-0000-7000-8000-000000000001', '019a0000-0000-7000-8000-000000000002'];

/** Returns two processes that hear each other and themselves, what they announce, and a clock that stands still until it is set. */
function processes() {
  const clock = { nowMs: 1 };
  const hearers: ((payload: string) => void)[] = [];
  const announced: string[] = [];
  const bus = {
    listen: (_topic: string, hear: (payload: string) => void) => void hearers.push(hear),
    announce: (_topic: string, payload: string) => {
      announced.push(payload);
      for (const hear of hearers) hear(payload);
    },
  };
  const open = () => new EventPace(bus, createLogger('test', 'silent'), () => clock.nowMs);
  return { clock, announced, bus, first: open(), second: open() };
}

it('what an account has had of one process it has less of in the others, and each counts its own once', () => {
  const { clock, first, second } = processes();
  first.spend(one, 700);
  expect([first.waiting(), second.waiting()]).toEqual([[], []]);
  second.spend(one, 300);
  expect([first.waiting(), second.waiting()]).toEqual([[one], [one]]);
  expect([first.waitMs(), second.waitMs()]).toEqual([1, 1]);
  clock.nowMs += 1;
  expect([first.waiting(), second.waiting()]).toEqual([[], []]);
});

it('processes are not told of little, until it has become much within a second', () => {
  const { clock, announced, first, second } = processes();
  for (let n = 0; n < 99; n++) first.spend(one, 1);
  first.spend(other, 99);
  clock.nowMs += 1_001;
  first.spend(other, 99);
  expect(announced).toEqual([]);
  for (let n = 0; n < 99; n++) first.spend(one, 1);
  first.spend(one, 1);
  second.spend(one, 100);
  expect(announced.map((payload) => JSON.parse(payload))).toEqual([
    { from: expect.any(String), account: one, cost: 100 },
    { from: expect.any(String), account: one, cost: 100 },
  ]);
});

it('a message that is none changes nothing, and one that says too much keeps an account for a minute at most', () => {
  const { clock, bus, first } = processes();
  const forged = { from: 'another', account: one, cost: 20_000 };
  const none = ['', 'null', '{}', { ...forged, cost: 20_001 }, { ...forged, cost: -5 }, { ...forged, account: 'all' }];
  for (const payload of none)
    bus.announce('event-pace', typeof payload === 'string' ? payload : JSON.stringify(payload));
  expect(first.waiting()).toEqual([]);
  for (let n = 0; n < 1_000; n++) bus.announce('event-pace', JSON.stringify(forged));
  clock.nowMs += 60_000;
  expect(first.waiting()).toEqual([one]);
  clock.nowMs += 1;
  expect(first.waiting()).toEqual([]);
});
