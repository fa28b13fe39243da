import { parseArgs } from 'node:util';
import * as customerFaults from './customer-faults.ts';
import * as databaseFaults from './database-faults.ts';
import { drill, type Outcome } from './drill.ts';
import { type Fault, signsOf } from './fault.ts';
import * as processFaults from './process-faults.ts';
import * as queueFaults from './queue-faults.ts';
import { factor } from './scaled-rules.ts';
import { startWorld } from './world.ts';

const totalMs = 600_000;
const faults: Fault[] = [
  queueFaults.poison,
  queueFaults.pausedDeliveries,
  queueFaults.pausedMessages,
  queueFaults.pausedWork,
  processFaults.killedService,
  processFaults.frozenService,
  databaseFaults.forgottenLock,
  databaseFaults.noPartitions,
  databaseFaults.deletedDelivery,
  processFaults.redisGone,
  processFaults.natsGone,
  processFaults.natsStopped,
  queueFaults.hangingEndpoint,
  queueFaults.wrongCertificate,
  databaseFaults.slowDatabase,
  databaseFaults.frozenDatabase,
  customerFaults.rejectedMessages,
  customerFaults.refusedToken,
  customerFaults.leakedKey,
  customerFaults.moduleOff,
  customerFaults.goneEndpoint,
];

const usage = `npm run drill [-- FAULT…]

Causes faults in a separate platform under a small load. For each fault it waits for the alert in Prometheus or for the check's page, follows the runbook with the
command-line tool, waits until the alert clears, and proves that no accepted request and no webhook is lost. Runs all faults, or the named ones:

${faults.map((each) => `  ${each.name.padEnd(12)} ${each.what} (${signsOf(each)})`).join('\n')}

Uses the rules of deploy/observe/alerts with every duration divided by ${factor}: a minute is half a second. Needs Linux, and Prometheus on PATH
or from Debian. Exit codes: 0 all passed, 1 a check failed, 2 invalid arguments.`;

const startMs = performance.now();
const say = (line: string) => {
  const seconds = ((performance.now() - startMs) / 1_000).toFixed(1).padStart(6);
  process.stdout.write(`${seconds} s  ${line}\n`);
};

function readFaults(): Fault[] | 'help' {
  const { values, positionals } = parseArgs({
    options: { help: { type: 'boolean', short: 'h' } },
    allowPositionals: true,
  });
  if (values.help) return 'help';
  return positionals.length === 0 ? faults : positionals.map(named);
}

function named(name: string): Fault {
  const fault = faults.find((each) => each.name === name);
  if (!fault) throw new Error(`unknown fault "${name}": --help lists the faults`);
  return fault;
}

async function run(chosen: Fault[]): Promise<number> {
  say(`durations of the rules are divided by ${factor}: a minute is half a second`);
  const world = await startWorld(say);
  const outcomes: Outcome[] = [];
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= world.stop();
    return stopping;
  };
  const giveUp = (why: string) => {
    say(why);
    void stop().finally(() => process.exit(1));
  };
  const timer = setTimeout(() => giveUp(`gave up after ${totalMs / 1_000} s`), totalMs);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => giveUp('stopping'));
  try {
    for (const fault of chosen) {
      say(`— ${fault.name}`);
      outcomes.push(await drill(fault, world));
    }
    const { accepted, refused } = world.load.counts;
    process.stdout.write(
      `\n${table(outcomes)}\n\n${accepted} requests were accepted, ${refused} refused or without a response.\n`,
    );
  } finally {
    clearTimeout(timer);
    await stop();
  }
  return outcomes.every(({ problem }) => problem === null) ? 0 : 1;
}

function table(outcomes: Outcome[]): string {
  const rows = [
    ['fault', 'alert', 'fires after', 'clear after', 'proven', 'held'],
    ...outcomes.map(({ fault, alerts, firedAfter, clearedAfter, proven, problem }) => [
      fault,
      alerts,
      firedAfter === null ? '-' : `${firedAfter} s`,
      clearedAfter === null ? '-' : `${clearedAfter} s`,
      proven === null ? '-' : String(proven),
      problem ?? 'yes',
    ]),
  ];
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

async function main(): Promise<number> {
  let chosen: Fault[] | 'help';
  try {
    chosen = readFaults();
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    return 2;
  }
  if (chosen !== 'help') return await run(chosen);
  process.stdout.write(`${usage}\n`);
  return 0;
}

process.exitCode = await main().catch((error: unknown) => {
  say(`PROBLEM: ${error instanceof Error ? `${error.message} ${error.cause ?? ''}` : String(error)}`);
  return 1;
});
