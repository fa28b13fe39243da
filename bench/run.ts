import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bookingBench } from './booking.ts';
import { eventsBench } from './events.ts';
import { type Bench, type Figure, tableLines } from './figures.ts';
import { freeTimesBench } from './free-times.ts';
import { gatewayBench } from './gateway.ts';
import { growthBench } from './growth.ts';
import { stopAll } from './harness.ts';
import { idleBench } from './idle.ts';
import { listsBench } from './lists.ts';
import { messagesBench } from './messages.ts';
import { neighboursBench } from './neighbours.ts';
import { soakBench } from './soak.ts';
import { webhooksBench } from './webhooks.ts';

const benches: Bench[] = [
  gatewayBench,
  bookingBench,
  freeTimesBench,
  webhooksBench,
  eventsBench,
  idleBench,
  listsBench,
  messagesBench,
  neighboursBench,
  growthBench,
  soakBench,
];
const page = join(import.meta.dirname, 'measured.md');

/** Returns the machine and date of a measurement, and the machine's load before it. */
function circumstances(loadBefore: number): string {
  const processors = cpus();
  const on = `${processors.length} cores (${processors[0]?.model ?? 'unknown'})`;
  return `${on}, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}; load before: ${loadBefore.toFixed(1)}`;
}

/** Writes a bench's table between its two markers. Throws if the page has no such markers. */
function write(bench: Bench, table: string): void {
  const text = readFileSync(page, 'utf8');
  const [begin, end] = [`<!-- measured: ${bench.name} -->`, `<!-- end: ${bench.name} -->`];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from === -1 || to < from) throw new Error(`bench/measured.md needs the lines ${begin} and ${end}`);
  writeFileSync(page, `${text.slice(0, from + begin.length)}\n${table}\n${text.slice(to)}`);
}

/**
 * Runs the named benches, by default all except long ones. `beside` is for `events`: svix, floor, or paths of other checkouts. Returns
 * whether every target was met.
 */
async function run(names: string[], isWritten: boolean, beside?: readonly string[]): Promise<boolean> {
  const unknown = names.filter((name) => !benches.some((bench) => bench.name === name));
  if (unknown.length > 0) {
    throw new Error(
      `unknown bench ${unknown.join(', ')}; must be one of ${benches.map(({ name }) => name).join(', ')}`,
    );
  }
  const missed: Figure[] = [];
  const isWanted = ({ name, takesMinutes }: Bench) => (names.length === 0 ? !takesMinutes : names.includes(name));
  for (const bench of benches.filter(isWanted)) {
    const loadBefore = loadavg()[0]!;
    console.log(`\n${bench.name}: ${bench.summary}`);
    const figures = await bench.measure(beside).finally(stopAll);
    const head = ['| what | measured | target | holds |', '|:-|-:|-:|:-|'];
    const table = [`${circumstances(loadBefore)}`, '', ...head, ...tableLines(figures)].join('\n');
    console.log(table);
    if (isWritten) write(bench, table);
    missed.push(...figures.filter(({ holds }) => holds === false));
  }
  console.log(missed.length === 0 ? '\nall targets were met' : `\n${missed.length} targets were missed`);
  return missed.length === 0;
}

let isBrokenOff = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    isBrokenOff = true;
    process.on('uncaughtException', () => undefined); // errors of connections to servers that are being stopped
    void stopAll().finally(() => process.exit(130));
  });
}
const { values, positionals } = parseArgs({
  options: { write: { type: 'boolean', default: false }, beside: { type: 'string', multiple: true } },
  allowPositionals: true,
});
if (values.beside !== undefined && (positionals.join() !== 'events' || values.write))
  throw new Error('--beside requires the bench events alone, without --write');
const allHold = await run(positionals, values.write, values.beside).catch((error: unknown) => {
  // Stopping the platform makes the bench fail; that must not end this process before everything is stopped.
  if (isBrokenOff) return false;
  throw error;
});
process.exitCode = allHold ? 0 : 1;
