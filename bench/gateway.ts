import { atMost, type Bench, type Figure, median, percentile, told } from './figures.ts';
import { type Child, startChild, startPlatform } from './harness.ts';
import { closedLoop, type LoadResult, openLoop, requestBytes } from './load.ts';
import { cpuSeconds, watchMemory } from './process-usage.ts';

const rounds = 5;
const connections = 32;
const warmUpMs = 2_000;
const roundMs = 1_500;
/** The GET that is measured; whatever is behind the gateway responds with the same kilobyte. */
const measuredGet = 'GET /v1/calendar/appointments/0190b7a4-0000-7000-8000-000000000000';

/** What the GET is sent to: the gateway, a proxy that checks nothing on Express or node:http, or the service itself. */
type Name = 'gateway' | 'express' | 'http' | 'direct';
type Subjects = Record<Name, Child & { request: Buffer }>;

/**
 * Measures the gateway's overhead for a GET. Behind it is a service that costs next to nothing, instead of calendar; the key,
 * the account, the database, NATS and Redis are real.
 */
export const gatewayBench: Bench = {
  name: 'gateway',
  summary: 'what the gateway costs and adds to one GET of 1 KB, all checks included',
  async measure() {
    const stub = await startChild('fixed-response.ts');
    const platform = await startPlatform({ CALENDAR_URL: stub.url });
    const { key } = await platform.account();
    const subject = ({ url, pid }: Child) => {
      return { url, pid, request: requestBytes(url, measuredGet, { authorization: `Bearer ${key}` }) };
    };
    const subjects: Subjects = {
      gateway: subject({ url: platform.gatewayUrl, pid: platform.pidOf('gateway')! }),
      express: subject(await startChild('bare-proxy.ts', stub.url, 'express')),
      http: subject(await startChild('bare-proxy.ts', stub.url, 'http')),
      direct: subject(stub),
    };
    const { figures, maxPerSecond } = await cost(subjects);
    return [...figures, ...(await delay(subjects, Math.round(maxPerSecond / 2)))];
  },
};

/** Measures the named subjects by turns; returns what each round gave. */
async function byTurns<Value>(names: Name[], measure: (name: Name) => Promise<Value>): Promise<Record<Name, Value[]>> {
  const measured: Record<Name, Value[]> = { gateway: [], express: [], http: [], direct: [] };
  for (let round = 0; round < rounds; round++) for (const name of names) measured[name].push(await measure(name));
  return measured;
}

/** Measures CPU time per request at full load; also the gateway's memory and its maximum requests per second. */
async function cost(subjects: Subjects): Promise<{ figures: Figure[]; maxPerSecond: number }> {
  const names: Name[] = ['gateway', 'express', 'http'];
  const saturate = ({ url, request }: Subjects[Name], durationMs: number): Promise<LoadResult> =>
    closedLoop({ url, connections, next: () => request, expected: 200 }, durationMs);
  for (const name of names) await saturate(subjects[name], warmUpMs);
  const memory = watchMemory(subjects.gateway.pid);
  const measured = await byTurns(names, async (name) => {
    const pids = [subjects[name].pid];
    const before = cpuSeconds(pids);
    const { responses, seconds } = await saturate(subjects[name], roundMs);
    return { micros: ((cpuSeconds(pids) - before) / responses) * 1e6, perSecond: responses / seconds };
  });
  const micros = (name: Name) => median(measured[name].map((each) => each.micros));
  const maxPerSecond = median(measured.gateway.map(({ perSecond }) => perSecond));
  const figures = [
    atMost(
      'CPU of a GET, gateway ÷ bare http-proxy-middleware on Express',
      micros('gateway') / micros('express'),
      1.25,
    ),
    told('CPU of a GET, gateway ÷ bare http-proxy-middleware on node:http', micros('gateway') / micros('http')),
    told('CPU of a GET: gateway', micros('gateway'), 'µs'),
    told('CPU of a GET: bare on Express', micros('express'), 'µs'),
    told('CPU of a GET: bare on node:http', micros('http'), 'µs'),
    told(`most GETs a second of one gateway process (${connections} connections)`, maxPerSecond, '/s'),
    atMost('gateway memory under that load', memory(), 150, 'MiB'),
  ];
  return { figures, maxPerSecond };
}

/** Measures the added latency compared with direct requests, at half of the gateway's maximum rate, and that of the bare proxy. */
async function delay(subjects: Subjects, perSecond: number): Promise<Figure[]> {
  const measured = await byTurns(['gateway', 'direct', 'express'], async (name) => {
    const { url, request } = subjects[name];
    return (await openLoop({ url, connections, next: () => request, expected: 200 }, perSecond, roundMs)).latenciesMs;
  });
  const time = (name: Name, share: number) => median(measured[name].map((each) => percentile(each, share)));
  const added = (name: Name, share: number) => time(name, share) - time('direct', share);
  return [
    atMost(`time added at half of its most (${perSecond}/s): p50`, added('gateway', 0.5), 0.5, 'ms'),
    atMost(`time added at half of its most (${perSecond}/s): p99`, added('gateway', 0.99), 4, 'ms'),
    told('time added by the bare proxy on Express at that rate: p50', added('express', 0.5), 'ms'),
    told('time added by the bare proxy on Express at that rate: p99', added('express', 0.99), 'ms'),
    told('time with nothing between: p50', time('direct', 0.5), 'ms'),
    told('time with nothing between: p99', time('direct', 0.99), 'ms'),
  ];
}
