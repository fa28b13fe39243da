import { setTimeout as sleep } from 'node:timers/promises';
import { atLeast, atMost, type Bench, type Figure, median } from './figures.ts';
import { pidsOf, type Receiver, startPlatform, startReceiver } from './harness.ts';
import { closedLoop, type Load, type LoadResult, openLoop, several } from './load.ts';
import { cpuSeconds } from './process-usage.ts';
import { arrivedFigure, byTurns, createdMs, delayOf, type Round } from './rounds.ts';
import { customersOf } from './webhooks.ts';

const accounts = 10;
const fullContacts = 3_000;
/** Contacts before the first round, and the rest after them: what runs for days has its code compiled and its start behind it. */
const warmUpContacts = 3_000;
const restMs = 10_000;
const connections = 32;
/** Longest wait for what was sent. */
const waitMs = 60_000;

/** Contacts a second, for so many seconds, and the goals of each: CPU in ms a contact, and the first try's delay in ms. */
interface Rate {
  perSecond: number;
  seconds: number;
  cpuMs: number;
  delayMs?: { p50: number; p99: number };
}
const steady: Rate[] = [
  { perSecond: 10, seconds: 6, cpuMs: 4 },
  { perSecond: 100, seconds: 5, cpuMs: 3, delayMs: { p50: 5, p99: 20 } },
  { perSecond: 300, seconds: 5, cpuMs: 2.5, delayMs: { p50: 6, p99: 30 } },
];

interface Subject {
  receiver: Receiver;
  /** The processes whose CPU time counts. */
  pids: number[];
  load: Load & { next(): Buffer };
}

/** A round of contacts: `sent` were made, and the last one had arrived after `seconds`. */
interface EventsRound extends Round {
  seconds: number;
  /** CPU time of everything for one contact. */
  cpuMs: number;
}

export const eventsBench: Bench = {
  name: 'events',
  summary:
    'a contact made through the gateway, copied by five services and delivered to one endpoint: delay and processor time',
  async measure() {
    const receiver = await startReceiver();
    const platform = await startPlatform();
    const customers = await customersOf(platform, receiver, accounts);
    let made = 0;
    const next = () => customers[made++ % accounts]!.request;
    const load = { url: platform.gatewayUrl, connections, next, expected: 201 };
    const subject = { receiver, pids: pidsOf(platform), load };
    await atFullLoad(subject, warmUpContacts);
    await sleep(restMs);
    const figures: Figure[] = [];
    for (const rate of steady) figures.push(...(await steadyFigures(subject, rate)));
    return [...figures, ...(await fullFigures(subject))];
  },
};

async function steadyFigures(subject: Subject, { perSecond, seconds, cpuMs, delayMs }: Rate): Promise<Figure[]> {
  const [all] = await byTurns([() => round(subject, () => openLoop(subject.load, perSecond, seconds * 1_000))]);
  const delay = `${perSecond} contacts/s, contact to first try`;
  const ofDelay = delayMs && [
    atMost(`${delay}: p50`, delayOf(all, 0.5), delayMs.p50, 'ms'),
    atMost(`${delay}: p99`, delayOf(all, 0.99), delayMs.p99, 'ms'),
  ];
  return [
    ...(ofDelay ?? []),
    atMost(`${perSecond} contacts/s: CPU of everything for a contact`, medianOf(all, 'cpuMs'), cpuMs, 'ms'),
    arrivedFigure(`${perSecond} contacts/s: contacts that arrived`, all),
  ];
}

async function fullFigures(subject: Subject): Promise<Figure[]> {
  const [all] = await byTurns([() => atFullLoad(subject, fullContacts)]);
  const perSecond = fullContacts / medianOf(all, 'seconds');
  return [
    atLeast(`contacts made and delivered, ${connections} connections`, perSecond, 1_000, '/s'),
    atMost('at that load: CPU of everything for a contact', medianOf(all, 'cpuMs'), 2, 'ms'),
  ];
}

const medianOf = (all: EventsRound[], what: 'seconds' | 'cpuMs') => median(all.map((one) => one[what]));

const atFullLoad = (subject: Subject, contacts: number) =>
  round(subject, () => closedLoop({ ...subject.load, next: several(contacts, subject.load.next) }));

/** Sends requests and waits until each contact has arrived; a delay counts from the time in the event's id to the request at the endpoint. */
async function round({ receiver, pids }: Subject, send: () => Promise<LoadResult>): Promise<EventsRound> {
  await receiver.arrivals();
  const [began, cpuBefore] = [performance.now(), cpuSeconds(pids)];
  const { responses: sent } = await send();
  const arrivedAt = new Map<string, number>();
  while (arrivedAt.size < sent && performance.now() - began < waitMs) {
    for (const { id, at } of await receiver.arrivals()) arrivedAt.set(id, at);
    await sleep(10);
  }
  const seconds = (performance.now() - began) / 1_000;
  const cpuMs = ((cpuSeconds(pids) - cpuBefore) * 1_000) / sent;
  return { sent, seconds, cpuMs, delaysMs: [...arrivedAt].map(([id, at]) => at - createdMs(id)) };
}
