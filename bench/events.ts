import { rmSync } from 'node:fs';
import { newDataFolder } from '@customer-platform/testkit';
import { type Child, startChild } from './child-process.ts';
import { atLeast, atMost, type Bench, exactly, type Figure, median, percentile, told } from './figures.ts';
import { closedLoop, type Load, openLoop } from './load.ts';
import { startPeers } from './peers/peer.ts';
import { type Sender, startSvix } from './peers/svix.ts';
import { cpuOf, pidsOf, startPlatform } from './platform.ts';
import { arrivalsAt, createdMs, customer } from './webhooks.ts';

const accounts = 10;
const rounds = 3;
const fullContacts = 3_000;
/** Contacts before the first round, and the rest after them: what runs for days has its code compiled and its start behind it. */
const warmUpContacts = 3_000;
const restMs = 10_000;
const connections = 32;
/** Longest wait for what was sent. */
const waitMs = 60_000;
/** Contacts a second, for so many seconds, and the goals of each: CPU in ms a contact, and the first try's delay in ms. */
const steady = [
  { perSecond: 10, seconds: 6, cpuMs: 4 },
  { perSecond: 100, seconds: 5, cpuMs: 3, p50Ms: 5, p99Ms: 20 },
  { perSecond: 300, seconds: 5, cpuMs: 2.5, p50Ms: 6, p99Ms: 30 },
] as const;

/** Senders of webhooks by others that are measured beside this one, where the machine has them. */
const senders: Record<string, typeof startSvix> = {
  svix: startSvix,
  outpost: () =>
    Promise.reject(new Error('it needs a message broker of its own, such as RabbitMQ, which no bench starts')),
};
export const senderPeers: readonly string[] = Object.keys(senders);

/** A sender of webhooks: the requests that it makes them of, and the receiver that they come to. */
interface Subject extends Pick<Load, 'url' | 'onResponse'> {
  pids: number[];
  receiver: Child;
  next(): Buffer;
  /** Time, in epoch ms, at which what carries this id was made; undefined where it was none of this subject's. */
  madeMs(id: string): number | undefined;
}

/** One round of what is made and delivered. */
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
  async measure(beside) {
    const receiver = await startChild('receiver.ts');
    const platform = await startPlatform();
    try {
      const customers = await Promise.all(Array.from({ length: accounts }, () => customer(platform, receiver)));
      let next = 0;
      const ours: Subject = {
        url: platform.gatewayUrl,
        pids: pidsOf(platform),
        receiver,
        next: () => customers[next++ % accounts]!.request,
        madeMs: createdMs,
      };
      await warmUp(ours);
      const figures: Figure[] = [];
      for (const goals of steady) figures.push(...(await steadyFigures(ours, goals)));
      figures.push(...(await fullFigures(ours)));
      await platform.stop();
      return [...figures, ...(await figuresOfPeers(beside, receiver))];
    } finally {
      await platform.stop();
      await receiver.stop();
    }
  },
};

type Goals = { perSecond: number; seconds: number; cpuMs: number; p50Ms?: number; p99Ms?: number };

/** Figures of one rate: medians of rounds. */
async function atRate(subject: Subject, { perSecond, seconds }: Pick<Goals, 'perSecond' | 'seconds'>) {
  const all: Round[] = [];
  for (let index = 0; index < rounds; index++) {
    all.push(await round(subject, (load) => openLoop(load, perSecond, seconds * 1_000)));
  }
  const of = (value: (round: Round) => number) => median(all.map(value));
  return {
    p50: of(({ delaysMs }) => percentile(delaysMs, 0.5)),
    p99: of(({ delaysMs }) => percentile(delaysMs, 0.99)),
    cpuMs: of((one) => one.cpuMs / one.made),
    made: all.reduce((sum, one) => sum + one.made, 0),
    arrived: all.reduce((sum, one) => sum + one.delaysMs.length, 0),
  };
}

async function steadyFigures(subject: Subject, goals: Goals): Promise<Figure[]> {
  const { perSecond, cpuMs, p50Ms, p99Ms } = goals;
  const measured = await atRate(subject, goals);
  const { made, arrived } = measured;
  return [
    ...(p50Ms ? [atMost(`${perSecond} contacts/s, contact to first try: p50`, measured.p50, p50Ms, 'ms')] : []),
    ...(p99Ms ? [atMost(`${perSecond} contacts/s, contact to first try: p99`, measured.p99, p99Ms, 'ms')] : []),
    atMost(`${perSecond} contacts/s: CPU of everything for a contact`, measured.cpuMs, cpuMs, 'ms'),
    exactly(`${perSecond} contacts/s: contacts that arrived`, `${arrived} of ${made}`, `${made} of ${made}`),
  ];
}

async function atFullLoad(subject: Subject): Promise<{ perSecond: number; cpuMs: number }> {
  const all: Round[] = [];
  for (let index = 0; index < rounds; index++) {
    all.push(await round(subject, (load) => closedLoop({ ...load, next: several(load.next, fullContacts) })));
  }
  const of = (value: (round: Round) => number) => median(all.map(value));
  return { perSecond: of((one) => one.made / one.seconds), cpuMs: of((one) => one.cpuMs / one.made) };
}

async function fullFigures(subject: Subject): Promise<Figure[]> {
  const { perSecond, cpuMs } = await atFullLoad(subject);
  return [
    atLeast(`contacts made and delivered, ${connections} connections`, perSecond, 1_000, '/s'),
    atMost('at that load: CPU of everything for a contact', cpuMs, 2, 'ms'),
  ];
}

/** Measures others in the same way, each alone: a message of theirs is a webhook and no more, without a contact and its copies. */
async function figuresOfPeers(beside: readonly string[], receiver: Child): Promise<Figure[]> {
  const directory = newDataFolder();
  const known = senderPeers.filter((name) => beside.includes(name));
  const peers = await startPeers(known, (name) => senders[name]!(receiver.url, directory));
  try {
    const figures: Figure[] = [];
    for (const { name, peer } of peers) {
      const measured = figuresOfPeer(name, subjectOf(peer, receiver));
      // Ours are measured: a fault of another's loses none of them.
      figures.push(...(await measured.catch((error: Error) => [told(`${name}: failed`, error.message)])));
    }
    return figures;
  } finally {
    for (const { peer } of peers) await peer.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function figuresOfPeer(name: string, subject: Subject): Promise<Figure[]> {
  await warmUp(subject);
  const figures: Figure[] = [];
  for (const rate of steady) {
    const { p50, p99, cpuMs, made, arrived } = await atRate(subject, rate);
    const at = `${name}, ${rate.perSecond} messages/s`;
    figures.push(
      told(`${at}, request to first try: p50`, p50, 'ms'),
      told(`${at}, request to first try: p99`, p99, 'ms'),
      told(`${at}: CPU of everything for a message`, cpuMs, 'ms'),
      told(`${at}: messages that arrived`, `${arrived} of ${made}`),
    );
  }
  const { perSecond, cpuMs } = await atFullLoad(subject);
  return [
    ...figures,
    told(`${name}: messages made and delivered, ${connections} connections`, perSecond, '/s'),
    told(`${name}, at that load: CPU of everything for a message`, cpuMs, 'ms'),
  ];
}

/** Returns another's sender as a subject. A message is made when it is sent: the response, which may come later than the webhook, has the id. */
function subjectOf({ url, pids, request }: Sender, receiver: Child): Subject {
  const madeMs = new Map<string, number>();
  return {
    url,
    pids,
    receiver,
    next: () => request,
    madeMs: (id) => madeMs.get(id),
    onResponse({ status, body, ms }) {
      if (status >= 300) throw new Error(`it responded with ${status}`);
      const { id } = JSON.parse(body.toString()) as { id: string };
      madeMs.set(id, performance.timeOrigin + performance.now() - ms);
    },
  };
}

const several = (next: () => Buffer, count: number) => () => (count-- > 0 ? next() : undefined);

async function warmUp(subject: Subject): Promise<void> {
  await round(subject, (load) => closedLoop({ ...load, next: several(load.next, warmUpContacts) }));
  await new Promise((resolve) => setTimeout(resolve, restMs));
}

type SubjectLoad = Pick<Load, 'url' | 'connections' | 'onResponse'> & { next(): Buffer };

/** Sends requests and waits until what each has made has arrived; a delay counts from when that was made to the request at the endpoint. */
async function round(
  { url, pids, receiver, next, madeMs, onResponse }: Subject,
  load: (load: SubjectLoad) => Promise<{ responses: number }>,
) {
  await arrivalsAt(receiver);
  const [began, cpuBefore] = [performance.now(), cpuOf(pids)];
  const { responses: made } = await load({ url, connections, next, ...(onResponse && { onResponse }) });
  const arrivals = new Map<string, number>();
  while (arrivals.size < made && performance.now() - began < waitMs) {
    for (const { id, at } of await arrivalsAt(receiver)) arrivals.set(id, at);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const seconds = (performance.now() - began) / 1_000;
  const delaysMs = [...arrivals].flatMap(([id, at]) => {
    const since = madeMs(id);
    return since === undefined ? [] : [at - since];
  });
  return { made, seconds, delaysMs, cpuMs: (cpuOf(pids) - cpuBefore) * 1_000 };
}
