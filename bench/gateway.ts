import { rmSync } from 'node:fs';
import { newDataFolder, type ProcessPlatform } from '@customer-platform/testkit';
import { startChild } from './child-process.ts';
import { atMost, type Bench, type Figure, median, percentile, told } from './figures.ts';
import { closedLoop, type LoadResult, openLoop, requestBytes } from './load.ts';
import { gatewayPeers, startGatewayPeer } from './peers/gateways.ts';
import { startPeers } from './peers/peer.ts';
import { startPlatform } from './platform.ts';
import { cpuSeconds, watchMemory } from './process-usage.ts';

const rounds = 5;
const connections = 32;
const warmUpMs = 2_000;
const roundMs = 1_500;

/** The GET that is measured; whatever is behind the gateway responds with the same kilobyte. */
export const measuredGet = 'GET /v1/calendar/appointments/0190b7a4-0000-7000-8000-000000000000';

/** Server of the GET, and the process whose CPU time counts. */
export interface Subject {
  name: string;
  url: string;
  pid: number;
  request: Buffer;
}

/**
 * Measures the gateway's overhead for a GET. Behind it is a service that costs next to nothing, instead of calendar; the key,
 * the account, the database, NATS and Redis are real.
 */
export const gatewayBench: Bench = {
  name: 'gateway',
  summary: 'what the gateway costs and adds to one GET of 1 KB, all checks included',
  async measure(beside) {
    const children: { stop(): Promise<void> }[] = [];
    let platform: ProcessPlatform | undefined;
    const directory = newDataFolder();
    try {
      const stub = await startChild('fixed-response.ts');
      children.push(stub);
      platform = await startPlatform({ CALENDAR_URL: stub.url });
      const { key } = await platform.account();
      const subject = (name: string, { url, pid }: { url: string; pid: number }): Subject => {
        return { name, url, pid, request: requestBytes(url, measuredGet, { authorization: `Bearer ${key}` }) };
      };
      const express = await startChild('bare-proxy.ts', stub.url, 'express');
      children.push(express);
      const plain = await startChild('bare-proxy.ts', stub.url, 'http');
      children.push(plain);
      const gateway = subject('gateway', { url: platform.gatewayUrl, pid: platform.pidOf('gateway')! });
      const bare = [subject('express', express), subject('http', plain)];
      const checks = { key, redisUrl: platform.redisUrl, directory };
      const known = beside.filter((name) => name in gatewayPeers);
      const peers = await startPeers(known, (name) => startGatewayPeer(name, stub.url, checks));
      children.push(...peers.map(({ peer }) => peer));
      const others = peers.map(({ name, peer: { url, pids } }) => subject(gatewayPeers[name]!, { url, pid: pids[0]! }));
      const { figures, maxPerSecond } = await cost(gateway, bare, others);
      return [...figures, ...(await delay(gateway, bare[0]!, subject('direct', stub), Math.round(maxPerSecond / 2)))];
    } finally {
      await platform?.stop();
      for (const child of children) await child.stop();
      rmSync(directory, { recursive: true, force: true });
    }
  },
};

/** Measures CPU time per request of each subject in turn; also memory and the maximum requests per second. */
async function cost(
  gateway: Subject,
  bare: Subject[],
  others: Subject[],
): Promise<{ figures: Figure[]; maxPerSecond: number }> {
  const subjects = [gateway, ...bare, ...others];
  const micros = new Map(subjects.map(({ name }) => [name, [] as number[]]));
  const rates: number[] = [];
  for (const subject of subjects) await saturate(subject, warmUpMs);
  const memory = watchMemory(gateway.pid);
  for (let round = 0; round < rounds; round++) {
    for (const subject of subjects) {
      const before = cpuSeconds(subject.pid);
      const result = await saturate(subject, roundMs);
      micros.get(subject.name)!.push(((cpuSeconds(subject.pid) - before) / result.responses) * 1e6);
      if (subject === gateway) rates.push(result.responses / result.seconds);
    }
  }
  const maxPerSecond = median(rates);
  const [ofGateway, onExpress, onHttp] = subjects.map(({ name }) => median(micros.get(name)!)) as [
    number,
    number,
    number,
  ];
  const figures = [
    atMost('CPU of a GET, gateway ÷ bare http-proxy-middleware on Express', ofGateway / onExpress, 1.25),
    told('CPU of a GET, gateway ÷ bare http-proxy-middleware on node:http', ofGateway / onHttp),
    told('CPU of a GET: gateway', ofGateway, 'µs'),
    told('CPU of a GET: bare on Express', onExpress, 'µs'),
    told('CPU of a GET: bare on node:http', onHttp, 'µs'),
    ...others.map(({ name }) => told(`CPU of a GET: ${name}`, median(micros.get(name)!), 'µs')),
    told(`most GETs a second of one gateway process (${connections} connections)`, maxPerSecond, '/s'),
    atMost('gateway memory under that load', memory.stop(), 150, 'MiB'),
  ];
  return { figures, maxPerSecond };
}

/** Measures the added latency compared with direct requests, at half of the gateway's maximum rate, and that of the bare proxy. */
async function delay(gateway: Subject, bare: Subject, direct: Subject, perSecond: number): Promise<Figure[]> {
  const subjects = [gateway, direct, bare];
  const seen = new Map(subjects.map(({ name }) => [name, { p50: [] as number[], p99: [] as number[] }]));
  for (let round = 0; round < rounds; round++) {
    for (const subject of subjects) {
      const load = { url: subject.url, connections, next: () => subject.request };
      const { latenciesMs } = allSucceeded(subject, await openLoop(load, perSecond, roundMs));
      seen.get(subject.name)!.p50.push(percentile(latenciesMs, 0.5));
      seen.get(subject.name)!.p99.push(percentile(latenciesMs, 0.99));
    }
  }
  const time = ({ name }: Subject, which: 'p50' | 'p99') => median(seen.get(name)![which]);
  const added = (subject: Subject, which: 'p50' | 'p99') => time(subject, which) - time(direct, which);
  return [
    atMost(`time added at half of its most (${perSecond}/s): p50`, added(gateway, 'p50'), 0.5, 'ms'),
    atMost(`time added at half of its most (${perSecond}/s): p99`, added(gateway, 'p99'), 4, 'ms'),
    told('time added by the bare proxy on Express at that rate: p50', added(bare, 'p50'), 'ms'),
    told('time added by the bare proxy on Express at that rate: p99', added(bare, 'p99'), 'ms'),
    told('time with nothing between: p50', time(direct, 'p50'), 'ms'),
    told('time with nothing between: p99', time(direct, 'p99'), 'ms'),
  ];
}

/** Sends as many GETs as the subject takes over 32 connections. */
export async function saturate(subject: Subject, durationMs: number): Promise<LoadResult> {
  const load = { url: subject.url, connections, next: () => subject.request };
  return allSucceeded(subject, await closedLoop(load, durationMs));
}

/** Throws if a response was not 200: refusals are cheap and would improve the figures. */
function allSucceeded(subject: Subject, result: LoadResult): LoadResult {
  const others = Object.keys(result.statuses).filter((status) => status !== '200');
  if (others.length > 0) throw new Error(`${subject.name} responded ${others.join(', ')}; only 200 can be measured`);
  return result;
}
