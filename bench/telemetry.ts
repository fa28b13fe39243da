import type { ProcessPlatform } from '@customer-platform/testkit';
import { type Child, startChild } from './child-process.ts';
import { atMost, type Bench, type Figure, median, told } from './figures.ts';
import { measuredGet, type Subject, saturate } from './gateway.ts';
import { type LoadResult, openLoop, requestBytes } from './load.ts';
import { startPlatform } from './platform.ts';
import { cpuSeconds } from './process-usage.ts';

/** Starts of each gateway: what a process compiles, and when, makes several per cent of a request's cost. */
const starts = 3;
const rounds = 5;
const roundMs = 1_500;
/** Requests a second that each gets in the rounds at an equal rate: under half of what the slowest takes. */
const perSecond = 3_000;
/** Requests that each has served before it is measured. Until then Node compiles, and telemetry has the more code: that is a cost of a start, not of a request. */
const warmUpRequests = 60_000;

/**
 * Measures what a gateway's spans and metrics cost: three platforms side by side, without telemetry, with one trace in ten, and with all,
 * each started several times, another first each time. They export to a collector that costs next to nothing, in a process of its own.
 */
export const telemetryBench: Bench = {
  name: 'telemetry',
  summary: 'what spans and metrics cost the gateway for one GET of 1 KB, exported to a collector',
  async measure() {
    const children: Child[] = [];
    try {
      const service = await startChild('fixed-response.ts');
      children.push(service);
      const collector = await startChild('fixed-response.ts');
      children.push(collector);
      const costs = [];
      for (let start = 0; start < starts; start++) costs.push(await measureStart(service, collector, start));
      return figures(costs);
    } finally {
      for (const child of children) await child.stop();
    }
  },
};

/** Microseconds of one request: without telemetry, with one trace in ten, with all. */
type Micros = [off: number, oneInTen: number, all: number];

/** The same at an equal rate, and while each is sent as much as it takes. */
interface Cost {
  equal: Micros;
  saturated: Micros;
}

/** Starts the three, and measures each: another is first each time, since the place in the order makes a difference too. */
async function measureStart(service: Child, collector: Child, start: number): Promise<Cost> {
  const platforms: ProcessPlatform[] = [];
  const subject = async (name: string, env: Record<string, string>): Promise<Subject> => {
    const platform = await startPlatform({ CALENDAR_URL: service.url, ...env });
    platforms.push(platform);
    const { key } = await platform.account();
    const request = requestBytes(platform.gatewayUrl, measuredGet, { authorization: `Bearer ${key}` });
    return { name, url: platform.gatewayUrl, pid: platform.pidOf('gateway')!, request };
  };
  try {
    const settings = [{}, exporting(collector, '0.1'), exporting(collector, '1')];
    const order = settings.map((_, index) => (start + index) % settings.length);
    const subjects: Subject[] = [];
    for (const index of order) subjects.push(await subject(String(index), settings[index]!));
    await warmUp(subjects);
    const inOrder = (micros: Map<string, number>) => settings.map((_, index) => micros.get(String(index))!) as Micros;
    const equal = inOrder(await microsOf(subjects, atEqualRate));
    return { equal, saturated: inOrder(await microsOf(subjects, (subject) => saturate(subject, roundMs))) };
  } finally {
    for (const platform of platforms) await platform.stop();
  }
}

/** Returns the settings of a process that exports metrics, and a share of its traces. */
function exporting(collector: Child, share: string): Record<string, string> {
  return {
    OTEL_SDK_DISABLED: 'false',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
    OTEL_METRICS_EXPORTER: 'otlp',
    OTEL_METRIC_EXPORT_INTERVAL: '10000',
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: share,
  };
}

async function warmUp(subjects: readonly Subject[]): Promise<void> {
  for (const subject of subjects) {
    for (let served = 0; served < warmUpRequests; ) served += (await saturate(subject, roundMs)).responses;
  }
}

const atEqualRate = ({ url, request }: Subject): Promise<LoadResult> =>
  openLoop({ url, connections: 32, next: () => request }, perSecond, roundMs);

/** Returns the median cost of one request to each, in rounds in which they alternate. */
async function microsOf(subjects: readonly Subject[], load: (subject: Subject) => Promise<LoadResult>) {
  const micros = new Map(subjects.map(({ name }) => [name, [] as number[]]));
  for (let round = 0; round < rounds; round++) {
    for (const subject of subjects) {
      const before = cpuSeconds(subject.pid);
      const { responses } = await load(subject);
      micros.get(subject.name)!.push(((cpuSeconds(subject.pid) - before) / responses) * 1e6);
    }
  }
  return new Map(subjects.map(({ name }) => [name, median(micros.get(name)!)]));
}

/** Figures of all starts: the median of each gateway's. */
function figures(costs: readonly Cost[]): Figure[] {
  const mediansOf = (which: keyof Cost) =>
    ([0, 1, 2] as const).map((index) => median(costs.map((each) => each[which][index]))) as Micros;
  const [off, oneInTen, all] = mediansOf('equal');
  const most = mediansOf('saturated');
  const rate = `at ${perSecond} a second each`;
  return [
    atMost(`CPU of a GET in the gateway, one trace in ten and metrics ÷ no telemetry, ${rate}`, oneInTen / off, 1.1),
    told(`CPU of a GET in the gateway, all traces and metrics ÷ no telemetry, ${rate}`, all / off),
    told(`CPU of a GET ${rate}: no telemetry`, off, 'µs'),
    told(`CPU of a GET ${rate}: one trace in ten and metrics`, oneInTen, 'µs'),
    told(`CPU of a GET ${rate}: all traces and metrics`, all, 'µs'),
    atMost('CPU of a GET, one trace in ten and metrics ÷ no telemetry, as many as each takes', most[1] / most[0], 1.1),
    told('CPU of a GET, all traces and metrics ÷ no telemetry, as many as each takes', most[2] / most[0]),
    told('CPU of a GET, as many as it takes: no telemetry', most[0], 'µs'),
    told('CPU of a GET, as many as it takes: one trace in ten and metrics', most[1], 'µs'),
    told('CPU of a GET, as many as it takes: all traces and metrics', most[2], 'µs'),
  ];
}
