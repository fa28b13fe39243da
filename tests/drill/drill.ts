import { waitFor } from '@customer-platform/testkit';
import type { Alert } from '../prometheus.ts';
import { type Fault, type Ongoing, signsOf } from './fault.ts';
import type { World } from './world.ts';

const fireMs = 60_000;
/** Longer than a minute, because work that runs once a minute may have failed just before the remedy. */
const clearMs = 90_000;

/** Outcome of one fault, with `problem` if a check failed. Durations are in seconds. */
export interface Outcome {
  fault: string;
  alerts: string;
  firedAfter: number | null;
  clearedAfter: number | null;
  proven: number | null;
  problem: string | null;
}

/** Causes a fault, waits for its alerts, follows the runbook, waits until the alerts clear, and proves that nothing is lost. */
export async function drill(fault: Fault, world: World): Promise<Outcome> {
  const { load, prometheus, receiver, say } = world;
  const outcome: Outcome = {
    fault: fault.name,
    alerts: signsOf(fault),
    firedAfter: null,
    clearedAfter: null,
    proven: null,
    problem: null,
  };
  const firing = async () => (await prometheus.alerts()).filter(({ isFiring }) => isFiring);
  const isFiring = (found: Alert[], wanted: Fault['alerts'][number]) =>
    found.some(({ name, labels }) => name === wanted.name && matches(labels, wanted.labels));
  const { accepted } = load.counts;
  let ongoing: Ongoing | undefined;
  try {
    await waitFor('the load to be accepted', () => load.counts.accepted > accepted);
    await waitFor('its alerts to be quiet', async () => {
      const found = await firing();
      return !fault.alerts.some((wanted) => isFiring(found, wanted));
    });
    let startMs = performance.now();
    ongoing = await fault.cause(world);
    say(`caused: ${fault.what}`);
    for (const wanted of fault.alerts) {
      await waitFor(`${wanted.name} to fire`, async () => isFiring(await firing(), wanted), fireMs);
      say(`fires: ${wanted.name} after ${secondsSince(startMs)} s`);
    }
    const { account } = ongoing;
    if (fault.runbook && account) {
      await waitFor(`check to name ${fault.runbook}`, () => isNamed(world, account, fault.runbook!), fireMs);
      say(`check --account names ${fault.runbook} after ${secondsSince(startMs)} s`);
    }
    outcome.firedAfter = secondsSince(startMs);
    startMs = performance.now();
    await ongoing.remedy();
    await waitFor(
      `${outcome.alerts} to clear`,
      async () => {
        const found = await firing();
        return !fault.alerts.some((wanted) => isFiring(found, wanted));
      },
      clearMs,
    );
    outcome.clearedAfter = secondsSince(startMs);
    say(`clear: ${outcome.alerts} after ${outcome.clearedAfter} s`);
    outcome.proven = await load.prove(receiver);
    await ongoing.prove?.();
    say(`nothing lost: ${outcome.proven} accepted requests are stored, and their webhooks arrived`);
  } catch (error) {
    outcome.problem = textOf(error);
    say(`PROBLEM: ${outcome.problem}`);
    const found = await firing().catch(() => []);
    say(
      `firing now: ${found.map(({ name, labels }) => `${name}${labels.job ? ` (${labels.job})` : ''}`).join(', ') || 'nothing'}`,
    );
  } finally {
    await ongoing?.end();
  }
  return outcome;
}

/** Returns whether the check of an account names a runbook. */
async function isNamed({ admin }: World, account: string, runbook: string): Promise<boolean> {
  const { rows } = await admin('check', '--account', account);
  const findings = rows.flatMap((row: { findings: { runbooks: string[] }[] }) => row.findings);
  return findings.some(({ runbooks }: { runbooks: string[] }) => runbooks.includes(runbook));
}

function matches(labels: Record<string, string>, wanted: Record<string, string>): boolean {
  return Object.entries(wanted).every(([name, value]) => labels[name] === value);
}

function secondsSince(ms: number): number {
  return Math.round((performance.now() - ms) / 100) / 10;
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
