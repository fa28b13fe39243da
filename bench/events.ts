import type { ProcessPlatform } from '@customer-platform/testkit';
import { type Child, startChild } from './child-process.ts';
import { atLeast, atMost, type Bench, exactly, type Figure, median, percentile } from './figures.ts';
import { closedLoop, openLoop } from './load.ts';
import { cpuOf, pidsOf, startPlatform } from './platform.ts';
import { arrivalsAt, type Customer, createdMs, customer } from './webhooks.ts';

const accounts = 10;
const rounds = 3;
const fullContacts = 3_000;
const connections = 32;
/** Longest wait for what was sent. */
const waitMs = 60_000;
/** Contacts a second, for so many seconds, and the goals of each: CPU in ms a contact, and the first try's delay in ms. */
const steady = [
  { perSecond: 10, seconds: 6, cpuMs: 4 },
  { perSecond: 100, seconds: 5, cpuMs: 3, p50Ms: 5, p99Ms: 20 },
  { perSecond: 300, seconds: 5, cpuMs: 2.5, p50Ms: 6, p99Ms: 30 },
] as const;

interface Setting {
  platform: ProcessPlatform;
  receiver: Child;
  customers: Customer[];
}

/** One round of contacts that are made and delivered. */
interface Round {
  made: number;
  /** Until the last one had arrived. */
  seconds: number;
  delaysMs: number[];
  cpuMs: number;
}

export const eventsBench: Bench = {
  name: 'events',
  summary:
    'a contact made through the gateway, copied by five services and delivered to one endpoint: delay and processor time',
  async measure() {
    const receiver = await startChild('receiver.ts');
    const platform = await startPlatform();
    try {
      const customers = await Promise.all(Array.from({ length: accounts }, () => customer(platform, receiver)));
      const setting = { platform, receiver, customers };
      await round(setting, (load) => closedLoop({ ...load, next: several(load.next, 500) })); // warms up
      const figures: Figure[] = [];
      for (const goals of steady) figures.push(...(await steadyFigures(setting, goals)));
      return [...figures, ...(await fullFigures(setting))];
    } finally {
      await platform.stop();
      await receiver.stop();
    }
  },
};

type Goals = { perSecond: number; seconds: number; cpuMs: number; p50Ms?: number; p99Ms?: number };

async function steadyFigures(setting: Setting, { perSecond, seconds, cpuMs, p50Ms, p99Ms }: Goals): Promise<Figure[]> {
  const all: Round[] = [];
  for (let index = 0; index < rounds; index++) {
    all.push(await round(setting, (load) => openLoop(load, perSecond, seconds * 1_000)));
  }
  const of = (value: (round: Round) => number) => median(all.map(value));
  const p50 = of(({ delaysMs }) => percentile(delaysMs, 0.5));
  const p99 = of(({ delaysMs }) => percentile(delaysMs, 0.99));
  const made = all.reduce((sum, one) => sum + one.made, 0);
  const arrived = all.reduce((sum, one) => sum + one.delaysMs.length, 0);
  return [
    ...(p50Ms ? [atMost(`${perSecond} contacts/s, contact to first try: p50`, p50, p50Ms, 'ms')] : []),
    ...(p99Ms ? [atMost(`${perSecond} contacts/s, contact to first try: p99`, p99, p99Ms, 'ms')] : []),
    atMost(
      `${perSecond} contacts/s: CPU of everything for a contact`,
      of((one) => one.cpuMs / one.made),
      cpuMs,
      'ms',
    ),
    exactly(`${perSecond} contacts/s: contacts that arrived`, `${arrived} of ${made}`, `${made} of ${made}`),
  ];
}

async function fullFigures(setting: Setting): Promise<Figure[]> {
  const all: Round[] = [];
  for (let index = 0; index < rounds; index++) {
    all.push(await round(setting, (load) => closedLoop({ ...load, next: several(load.next, fullContacts) })));
  }
  const of = (value: (round: Round) => number) => median(all.map(value));
  return [
    atLeast(
      `contacts made and delivered, ${connections} connections`,
      of((one) => one.made / one.seconds),
      1_000,
      '/s',
    ),
    atMost(
      'at that load: CPU of everything for a contact',
      of((one) => one.cpuMs / one.made),
      2,
      'ms',
    ),
  ];
}

const several = (next: () => Buffer, count: number) => () => (count-- > 0 ? next() : undefined);

type ContactLoad = { url: string; connections: number; next(): Buffer };

/** Makes contacts and waits until each has arrived; a delay counts from the contact's creation, by its event's id, to the request at the endpoint. */
async function round(
  { platform, receiver, customers }: Setting,
  load: (load: ContactLoad) => Promise<{ responses: number }>,
) {
  await arrivalsAt(receiver);
  const pids = pidsOf(platform);
  const [began, cpuBefore] = [performance.now(), cpuOf(pids)];
  let next = 0;
  const { responses: made } = await load({
    url: platform.gatewayUrl,
    connections,
    next: () => customers[next++ % accounts]!.request,
  });
  const delays = new Map<string, number>();
  while (delays.size < made && performance.now() - began < waitMs) {
    for (const { id, at } of await arrivalsAt(receiver)) delays.set(id, at - createdMs(id));
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const seconds = (performance.now() - began) / 1_000;
  return { made, seconds, delaysMs: [...delays.values()], cpuMs: (cpuOf(pids) - cpuBefore) * 1_000 };
}
