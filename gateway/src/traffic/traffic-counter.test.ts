import { expect, it } from '@jest/globals';
import { allAccounts, p99Ms, sumOf, TrafficCounter } from './traffic-counter.ts';

const accountOf = (index: number) => `00000000-0000-7000-8000-${String(index).padStart(12, '0')}`;
const request = { key: undefined, address: undefined, status: 200, code: undefined, ms: 1 };
const by = (index: number, expiresAtMs = Number.POSITIVE_INFINITY) => ({
  ...request,
  key: { keyId: 'key', account: { id: accountOf(index) }, expiresAtMs },
});

function counterAt(start: string) {
  let now = Date.parse(start);
  const counter = new TrafficCounter(() => new Date(now));
  return { counter, pass: (ms: number) => (now += ms) };
}

it('the busiest 10,000 accounts of a minute are saved, plus the sum of all requests', () => {
  const { counter } = counterAt('2026-11-30T12:00:00Z');
  for (let index = 0; index < 41_000; index++) counter.count(by(index));
  for (let index = 100; index < 10_100; index++) counter.count(by(index));
  const saved = counter.unsaved();
  expect(saved).toHaveLength(10_001);
  expect(saved.find(({ accountId }) => accountId === allAccounts)!.requests).toBe(51_000);
  expect(saved.filter(({ requests }) => requests === 2)).toHaveLength(10_000);
});

it('an unchanged minute is not saved again, and a finished one is saved completely', () => {
  const { counter, pass } = counterAt('2026-11-30T12:00:00Z');
  counter.count(by(1));
  expect(counter.unsaved()).toHaveLength(2);
  counter.saved();
  expect(counter.unsaved()).toEqual([]);
  counter.count(by(1));
  pass(60_000);
  counter.count(by(2));
  const minutes = counter
    .unsaved()
    .map(({ accountId, minute, requests }) => [accountId, minute.getMinutes(), requests]);
  expect(minutes).toEqual(
    expect.arrayContaining([
      [accountOf(1), 0, 2],
      [allAccounts, 0, 2],
      [accountOf(2), 1, 1],
      [allAccounts, 1, 1],
    ]),
  );
});

it('classes, codes and the use of keys are summed over gateways', () => {
  const gateways = ['203.0.113.1', '203.0.113.2'].map((address) => {
    const { counter } = counterAt('2026-11-30T12:00:00Z');
    const used = { ...by(1), address };
    counter.count(used);
    counter.count({ ...used, status: 429, code: 'rate_limited' });
    counter.count({ ...used, status: 404, code: 'module_off' });
    counter.count({ ...used, status: 503, code: 'service_unavailable', ms: 40 });
    return counter.unsaved().find(({ accountId }) => accountId === accountOf(1))!;
  });
  expect(sumOf(gateways)).toMatchObject({
    requests: 8,
    s2xx: 2,
    s4xx: 4,
    s404: 2,
    s5xx: 2,
    limited: 2,
    codes: { rate_limited: 2, module_off: 2, service_unavailable: 2 },
    keys: { key: { requests: 8, limited: 2, addresses: ['203.0.113.1', '203.0.113.2'] } },
  });
});

it('a request refused for an expired key does not count as over its rate', () => {
  const { counter } = counterAt('2026-11-30T12:00:00Z');
  counter.count({ ...by(1, Date.parse('2026-11-30T12:00:00Z')), status: 429, code: 'rate_limited' });
  const counted = counter.unsaved().find(({ accountId }) => accountId === accountOf(1));
  const keys = { key: { requests: 1, limited: 0, addresses: [] } };
  expect(counted).toMatchObject({ s4xx: 1, limited: 0, codes: { invalid_key: 1 }, keys });
});

it.each([
  [[1, 1, 1], 1],
  [[...Array<number>(99).fill(4), 900], 5],
  [[...Array<number>(98).fill(4), 900, 900], 1_000],
  [[60_000], 30_000],
])('at least 99 of 100 requests took no longer: %#', (durations, expected) => {
  const { counter } = counterAt('2026-11-30T12:00:00Z');
  for (const ms of durations) counter.count({ ...request, ms });
  expect(p99Ms(counter.unsaved()[0]!)).toBe(expected);
});
