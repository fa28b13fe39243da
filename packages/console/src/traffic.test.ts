import { expect, it } from '@jest/globals';
import { trafficOf } from './traffic.ts';

const minute = { s2xx: 0, s5xx: 1, p99_ms: 250 };

it('has the last 60 complete minutes, with no requests and no response time in those that the gateway omits', () => {
  const data = [
    { ...minute, minute: '2026-11-30T12:59:00+00:00', requests: 7, s4xx: 0, limited: 0 },
    { ...minute, minute: '2026-11-30T13:00:00+00:00', requests: 9, s4xx: 5, limited: 2 },
    { ...minute, minute: '2026-11-30T14:00:00+00:00', requests: 4, s4xx: 0, limited: 0 },
  ];
  const { times, requests, refused, limited, failed, p99 } = trafficOf(data, Date.parse('2026-11-30T14:00:40Z'));
  expect([times.length, times[0], times[59]]).toEqual([
    60,
    Date.parse('2026-11-30T13:00:00Z') / 1_000,
    Date.parse('2026-11-30T13:59:00Z') / 1_000,
  ]);
  expect([requests, refused, limited, failed, p99].map((values) => [values[0], values[1]])).toEqual([
    [9, 0],
    [3, 0],
    [2, 0],
    [1, 0],
    [250, null],
  ]);
});
