import { atMost, type Bench, type Figure, median, percentile, told } from './figures.ts';
import { type Child, startChild, startPlatform } from './harness.ts';
import { closedLoop, type LoadResult, openLoop, requestBytes } from './load.ts';
import { cpuSeconds, watchMemory } from './process-usage.ts';
import { byTurns } from './rounds.ts';

const rounds = 5;
const connections = 32;
const warmUpMs = 2_000;
const roundMs = 1_500;
const steadyPerSecond = 3_000;
/** The GET that is measured; whatever is behind the gateway responds with the same kilobyte. */
const measuredGet = 'GET /v1/calendar/appointments/0190b7a4-0000-7000-8000-000000000000';

/** Targets of the GET. */
interface Subject extends Child {
  request: Buffer;
}

/** The gateway, proxies that check nothing on Express and on node:http, and the service itself. */
type Subjects = Record<'gateway' | 'express' | 'http' | 'direct', Subject>;

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
    return [...(await cost(subjects)), ...(await delay(subjects))];
  },
};

/** Measures CPU time per request at full load; also the gateway's memory and its maximum requests per second. */
async function cost({ gateway, express, http }: Subjects): Promise<Figure[]> {
  const saturate = ({ url, request }: Subject, durationMs: number): Promise<LoadResult> =>
    closedLoop({ url, connections, next: () => request, expected: 200 }, durationMs);
  const round = (subject: Subject) => async () => {
    const before = cpuSeconds([subject.pid]);
    const { responses, seconds } = await saturate(subject, roundMs);
    return { micros: ((cpuSeconds([subject.pid]) - before) / responses) * 1e6, perSecond: responses / seconds };
  };
  for (const subject of [gateway, express, http]) await saturate(subject, warmUpMs);
  const memory = watchMemory(gateway.pid);
  const measured = await byTurns([round(gateway), round(express), round(http)], rounds);
  const [ofGateway, onExpress, onHttp] = measured.map((each) => median(each.map(({ micros }) => micros))) as [
    number,
    number,
    number,
  ];
  const maxPerSecond = median(measured[0].map(({ perSecond }) => perSecond));
  return [
    atMost('CPU of a GET, gateway ÷ bare http-proxy-middleware on Express', ofGateway / onExpress, 1.05),
    told('CPU of a GET, gateway ÷ bare http-proxy-middleware on node:http', ofGateway / onHttp),
    told('CPU of a GET: gateway', ofGateway, 'µs'),
    told('CPU of a GET: bare on Express', onExpress, 'µs'),
    told('CPU of a GET: bare on node:http', onHttp, 'µs'),
    told(`most GETs a second of one gateway process (${connections} connections)`, maxPerSecond, '/s'),
    atMost('gateway memory under that load', memory(), 150, 'MiB'),
  ];
}

/** Measures the latency at a steady rate: through the gateway, through the bare proxy, and directly. */
async function delay({ gateway, direct, express }: Subjects): Promise<Figure[]> {
  const round =
    ({ url, request }: Subject) =>
    async () =>
      (await openLoop({ url, connections, next: () => request, expected: 200 }, steadyPerSecond, roundMs)).latenciesMs;
  const [ofGateway, onExpress, ofDirect] = await byTurns([round(gateway), round(express), round(direct)], rounds);
  const time = (measured: number[][], share: number) => median(measured.map((each) => percentile(each, share)));
  const name = `at ${steadyPerSecond} GETs/s`;
  const ratio = median(ofGateway.map((each, index) => percentile(each, 0.99) / percentile(onExpress[index]!, 0.99)));
  return [
    atMost(`${name}, p99: gateway ÷ bare http-proxy-middleware on Express`, ratio, 1.2),
    ...[0.5, 0.99].flatMap((share) => {
      const which = `${name}, p${share * 100}`;
      return [
        told(`${which}: gateway`, time(ofGateway, share), 'ms'),
        told(`${which}: bare on Express`, time(onExpress, share), 'ms'),
        told(`${which}: nothing between`, time(ofDirect, share), 'ms'),
      ];
    }),
  ];
}
