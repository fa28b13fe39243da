import type { Output } from './api.ts';

type Minute = Output<'GET /admin/traffic'>['data'][number];

/** Requests of the last hour by minute, oldest first. Times are in seconds. */
export interface Traffic {
  times: number[];
  requests: number[];
  refused: number[];
  limited: number[];
  failed: number[];
  /** Null for minutes without requests. */
  p99: (number | null)[];
}

const minuteMs = 60_000;
const minutes = 60;

/** Returns the last 60 complete minutes. The gateway omits minutes without requests, which become zero. */
export function trafficOf(data: Minute[], now: number): Traffic {
  const byMinute = new Map(data.map((each) => [Date.parse(each.minute), each]));
  const first = Math.floor(now / minuteMs) - minutes;
  const times = Array.from({ length: minutes }, (_, index) => (first + index) * minuteMs);
  const valuesOf = (value: (minute: Minute) => number) =>
    times.map((time) => {
      const minute = byMinute.get(time);
      return minute ? value(minute) : 0;
    });
  return {
    times: times.map((time) => time / 1_000),
    requests: valuesOf(({ requests }) => requests),
    refused: valuesOf(({ s4xx, limited }) => s4xx - limited),
    limited: valuesOf(({ limited }) => limited),
    failed: valuesOf(({ s5xx }) => s5xx),
    p99: times.map((time) => byMinute.get(time)?.p99_ms ?? null),
  };
}
