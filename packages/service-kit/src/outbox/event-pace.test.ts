import { expect, it } from '@jest/globals';
import { createLogger } from '../telemetry/logging.ts';
import { EventPace } from './event-pace.ts';

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
  const open = () => {
    const pace = new EventPace(bus, () => clock.nowMs);
    pace.hear(bus, createLogger('test', 'silent'));
    return pace;
  };
  return { clock, announced, bus, first: open(), second: open() };
}

it('what an account has had of one process it has less of in the others, and each counts its own once', () => {
  const { clock, first, second } = processes();
  first.published(one, 700);
  expect([first.waiting(), second.waiting()]).toEqual([[], []]);
  second.published(one, 300);
  expect([first.waiting(), second.waiting()]).toEqual([[one], [one]]);
  expect([first.waitMs(), second.waitMs()]).toEqual([1, 1]);
  clock.nowMs += 1;
  expect([first.waiting(), second.waiting()]).toEqual([[], []]);
});

it('what taking events costs is spent once it is known, whatever is under way, and from then on when they are published', () => {
  const { clock, first, second } = processes();
  const waitMs = () => [first, second].map((pace) => (pace.waiting().includes(one) ? pace.waitMs() : 0));
  const further = () => [first, second].map((pace) => pace.furtherOf(one));
  first.published(one, 500);
  expect(waitMs()).toEqual([0, 0]);
  first.published(one, 500);
  for (let batch = 0; batch < 2; batch++) second.took(one, { events: 500, cost: 3_000, paid: 0 });
  expect(waitMs()).toEqual([6_001, 6_001]);
  expect(further()).toEqual([6, 6]);
  clock.nowMs += 10_000;
  first.published(one, 3_500);
  second.took(one, { events: 500, cost: 3_000, paid: 3_000 });
  expect(waitMs()).toEqual([2_501, 2_501]);
  clock.nowMs += 2_000;
  expect(waitMs()).toEqual([501, 501]);
  // Nobody takes them any more: what was spent in vain is given back.
  second.took(one, { events: 500, cost: 0, paid: 3_000 });
  expect([waitMs(), further()]).toEqual([
    [0, 0],
    [0, 0],
  ]);
  clock.nowMs += 10_000;
  second.took(one, { events: 500, cost: 0, paid: 3_000 });
  first.published(one, 1_000);
  expect(waitMs()).toEqual([1, 1]);
});

it('processes are not told of little, until it has become much within a second', () => {
  const { clock, announced, first, second } = processes();
  for (let n = 0; n < 99; n++) first.published(one, 1);
  first.published(other, 99);
  clock.nowMs += 1_001;
  first.published(other, 99);
  first.took(other, { events: 99, cost: 99, paid: 0 });
  expect(announced).toEqual([]);
  for (let n = 0; n < 99; n++) first.published(one, 1);
  first.published(one, 1);
  second.published(one, 100);
  second.took(one, { events: 100, cost: 600, paid: 500 });
  const from = expect.any(String);
  expect(announced.map((payload) => JSON.parse(payload))).toEqual([
    { from, account: one, cost: 100 },
    { from, account: one, cost: 100 },
    { from, account: one, cost: 100, further: 6 },
  ]);
});

it('a message that is none changes nothing, and one that says too much keeps an account for a minute at most', () => {
  const { clock, bus, first } = processes();
  const forged = { from: 'another', account: one, cost: 20_000 };
  const none = [
    '',
    'null',
    '{}',
    { ...forged, cost: 20_001 },
    { ...forged, cost: -20_001 },
    { ...forged, account: 'all' },
    { ...forged, further: -1 },
    { ...forged, further: 11 },
  ];
  for (const payload of none)
    bus.announce('event-pace', typeof payload === 'string' ? payload : JSON.stringify(payload));
  expect(first.waiting()).toEqual([]);
  for (let n = 0; n < 1_000; n++) bus.announce('event-pace', JSON.stringify(forged));
  clock.nowMs += 60_000;
  expect(first.waiting()).toEqual([one]);
  clock.nowMs += 1;
  expect(first.waiting()).toEqual([]);
});
