import { setTimeout as sleep } from 'node:timers/promises';
import { atLeast, atMost, type Bench, type Figure, median, percentile, told } from './figures.ts';
import { closedLoop, type LoadResult, openLoop, several } from './load.ts';
import { cpuSeconds, proportionalMebibytes } from './process-usage.ts';
import { arrivedFigure, byTurns, type Round } from './rounds.ts';
import { otherSubject, platformSubject, type Subject } from './subjects.ts';

const fullContacts = 3_000;
/** Contacts before the first round, and the pause after them: as in a platform that has run for days, the code is compiled by then. */
const warmUpContacts = 3_000;
const restMs = 10_000;
/** Rounds of each load; with several subjects, they take turns. */
const rounds = 5;
/** Time after the last arrival until batched writes are done: copies and outcomes cost CPU time too. */
const settleMs = 500;
/** Longest wait for the arrival of everything that was sent. */
const waitMs = 60_000;

/** Load, and the targets of a round: CPU ms per contact, delay of the first try in ms, contacts per second. `besideSvix` has ratios instead. */
interface Step {
  name: string;
  send(load: Subject['load']): Promise<LoadResult>;
  goals: Goals;
  besideSvix: Goals;
}
type Goals = { [Key in Measure]?: number };
type Measure = keyof typeof measures;

const steady = (perSecond: number, seconds: number) => ({
  name: `${perSecond} contacts/s`,
  send: (load: Subject['load']) => openLoop(load, perSecond, seconds * 1_000),
});
const steps: Step[] = [
  { ...steady(10, 6), goals: { cpuMs: 4 }, besideSvix: {} },
  { ...steady(100, 5), goals: { p50: 5, p99: 20, cpuMs: 3 }, besideSvix: { p50: 2, p99: 3, cpuMs: 1.6 } },
  { ...steady(300, 5), goals: { p50: 6, p99: 30, cpuMs: 2.5 }, besideSvix: { p50: 3, p99: 4 } },
  {
    name: `${fullContacts} contacts at once, 32 connections`,
    send: (load) => closedLoop({ ...load, next: several(fullContacts, load.next) }),
    goals: { cpuMs: 2, perSecond: 1_000 },
    besideSvix: { cpuMs: 1.3, perSecond: 0.85 },
  },
];
/** Memory of the whole platform relative to Svix's. */
const mostMemory = 2.5;

/** Round of contacts: `sent` were created, and the last event arrived after `seconds`. */
interface EventsRound extends Round {
  seconds: number;
  /** Total CPU time per contact, all processes included. */
  cpuMs: number;
  /** Latencies of the API's responses. */
  latenciesMs: number[];
}

/** Measures that are reported for a round. */
const measures = {
  p50: { what: 'contact to first try, p50', unit: 'ms', of: ({ delaysMs }: EventsRound) => percentile(delaysMs, 0.5) },
  p99: { what: 'contact to first try, p99', unit: 'ms', of: ({ delaysMs }: EventsRound) => percentile(delaysMs, 0.99) },
  apiP99: {
    what: 'response of the API, p99',
    unit: 'ms',
    of: ({ latenciesMs }: EventsRound) => percentile(latenciesMs, 0.99),
  },
  cpuMs: { what: 'CPU of everything for a contact', unit: 'ms', of: ({ cpuMs }: EventsRound) => cpuMs },
  perSecond: { what: 'made and delivered', unit: '/s', of: ({ sent, seconds }: EventsRound) => sent / seconds },
} as const;

export const eventsBench: Bench = {
  name: 'events',
  summary:
    'a contact made through the gateway, copied by five services and delivered to one endpoint: delay and processor time',
  async measure(beside = []) {
    const subjects = [await platformSubject()];
    for (const name of beside) subjects.push(await otherSubject(name));
    for (const subject of subjects)
      await round(subject, (load) => closedLoop({ ...load, next: several(warmUpContacts, load.next) }));
    await sleep(restMs);
    const figures = memoryFigures(subjects);
    for (const step of steps) {
      const measured = await byTurns(
        subjects.map((subject) => () => round(subject, step.send)),
        rounds,
      );
      const [ours, ...others] = measured as [EventsRound[], ...EventsRound[][]];
      figures.push(...(others.length === 0 ? ownFigures(step, ours) : ratioFigures(step, subjects, [ours, ...others])));
    }
    return figures;
  },
};

function ownFigures({ name, goals }: Step, all: EventsRound[]): Figure[] {
  const figures = Object.entries(goals).map(([measure, goal]) => {
    const { what, unit, of } = measures[measure as Measure];
    const bounded = measure === 'perSecond' ? atLeast : atMost;
    return bounded(`${name}: ${what}`, median(all.map(of)), goal, unit);
  });
  return [...figures, arrivedFigure(`${name}: contacts that arrived`, all)];
}

/** Returns each measure of every subject, and the median of the rounds' ratios to each other subject. */
function ratioFigures(
  { name, besideSvix }: Step,
  subjects: Subject[],
  [ours, ...others]: [EventsRound[], ...EventsRound[][]],
): Figure[] {
  const figures = (Object.keys(measures) as Measure[]).flatMap((measure) => {
    const { what, unit, of } = measures[measure];
    const bounded = measure === 'perSecond' ? atLeast : atMost;
    const ofOthers = others.flatMap((rounds, index) => {
      const other = subjects[index + 1]!.name;
      const ratio = median(ours.map((round, at) => of(round) / of(rounds[at]!)));
      const goal = other === 'Svix' ? besideSvix[measure] : undefined;
      const ratioTo = `${name}: ${what}: ÷ ${other}`;
      return [
        told(`${name}: ${what}: ${other}`, median(rounds.map(of)), unit),
        goal === undefined ? told(ratioTo, ratio) : bounded(ratioTo, ratio, goal),
      ];
    });
    return [told(`${name}: ${what}: ${subjects[0]!.name}`, median(ours.map(of)), unit), ...ofOthers];
  });
  const arrived = [ours, ...others].map((rounds, index) =>
    arrivedFigure(`${name}: contacts that arrived: ${subjects[index]!.name}`, rounds),
  );
  return [...figures, ...arrived];
}

function memoryFigures(subjects: readonly Subject[]): Figure[] {
  const memories = subjects.map(({ pids }) => proportionalMebibytes(pids));
  return subjects.flatMap(({ name }, index) => {
    const what = `memory after the warm-up: ${name}`;
    const ratio = memories[0]! / memories[index]!;
    const all = [told(what, memories[index]!, 'MiB')];
    if (name === 'Svix') all.push(atMost(`${what}: ratio to it`, ratio, mostMemory));
    return all;
  });
}

/** Sends requests and waits until every event has arrived. A delay is measured from the event's creation to the request at the endpoint. */
async function round({ receiver, pids, load, madeMs }: Subject, send: Step['send']): Promise<EventsRound> {
  await receiver.arrivals();
  const [began, cpuBefore] = [performance.now(), cpuSeconds(pids)];
  const { responses: sent, latenciesMs } = await send(load);
  const arrivedAt = new Map<string, number>();
  while (arrivedAt.size < sent && performance.now() - began < waitMs) {
    for (const { id, at } of await receiver.arrivals()) if (!arrivedAt.has(id)) arrivedAt.set(id, at);
    await sleep(10);
  }
  const seconds = (performance.now() - began) / 1_000;
  await sleep(settleMs);
  const cpuMs = ((cpuSeconds(pids) - cpuBefore) * 1_000) / sent;
  return { sent, seconds, cpuMs, latenciesMs, delaysMs: [...arrivedAt].map(([id, at]) => at - madeMs(id)) };
}
