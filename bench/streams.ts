import { type EventReader, type ProcessPlatform, readStream, waitFor } from '@customer-platform/testkit';
import { atMost, type Bench, exactly, type Figure, median, percentile, told } from './figures.ts';
import { openLoop, requestBytes } from './load.ts';
import { startPlatform } from './platform.ts';
import { residentMebibytes, untilIdle } from './process-usage.ts';

const accounts = 100;
const streamsOfAccount = 5;
const streams = accounts * streamsOfAccount;
const eventsPerSecond = 300;
const rounds = 3;
const roundMs = 5_000;
const processes = ['gateway', 'webhooks'] as const;

/** Readers of streams, and the delays of what they got, from the event's timestamp, which is taken before the commit. */
interface Setting {
  platform: ProcessPlatform;
  requests: Buffer[];
  readers: EventReader[];
  delaysMs: number[];
}

export const streamsBench: Bench = {
  name: 'streams',
  summary: `${streams} streams of ${accounts} accounts, open at once, while events come`,
  async measure() {
    const platform = await startPlatform();
    const setting: Setting = { platform, requests: [], readers: [], delaysMs: [] };
    try {
      const keys = await openAccounts(setting);
      // What the processes need once is needed before.
      await round(setting);
      const before = memoryOf(platform);
      await openStreams(setting, keys);
      const open = memoryOf(platform);
      return [...(await latency(setting)), ...memory(before, open, memoryOf(platform))];
    } finally {
      for (const reader of setting.readers) reader.close();
      await platform.stop();
    }
  },
};

async function openAccounts({ platform, requests }: Setting): Promise<string[]> {
  const keys: string[] = [];
  // With these fields the envelope is about a kilobyte.
  const body = JSON.stringify({ name: 'Ada Lovelace', phone: '+4930901820', fields: { note: 'x'.repeat(600) } });
  for (let made = 0; made < accounts; made++) {
    const { key } = await platform.account();
    keys.push(key);
    requests.push(requestBytes(platform.gatewayUrl, 'POST /v1/cdp/contacts', { authorization: `Bearer ${key}` }, body));
  }
  return keys;
}

async function openStreams({ platform, readers, delaysMs }: Setting, keys: readonly string[]): Promise<void> {
  const url = `${platform.gatewayUrl}/v1/events/stream`;
  for (const key of keys) {
    const opened = Array.from({ length: streamsOfAccount }, () =>
      readStream(url, key, {}, ({ data }) => delaysMs.push(Date.now() - Date.parse(data.timestamp))),
    );
    readers.push(...(await Promise.all(opened)));
  }
  const refused = readers.find(({ status }) => status !== 200);
  if (refused) throw new Error(`a stream was refused with ${refused.status}`);
}

/** Makes events at a steady rate, and waits until each is in all streams of its account. Returns their number. */
async function round({ platform, requests, readers }: Setting): Promise<number> {
  const heard = () => readers.reduce((sum, { events }) => sum + events.length, 0);
  const before = heard();
  let made = 0;
  const next = () => requests[made++ % requests.length]!;
  const result = await openLoop({ url: platform.gatewayUrl, connections: 32, next }, eventsPerSecond, roundMs);
  const created = result.statuses[201] ?? 0;
  if (created !== result.responses) throw new Error(`not all contacts were made: ${JSON.stringify(result.statuses)}`);
  if (readers.length === 0)
    await untilIdle(
      processes.map((name) => platform.pidOf(name)!),
      20_000,
    );
  else await waitFor('all events', () => heard() - before >= created * streamsOfAccount).catch(() => undefined); // counted below
  return created;
}

async function latency(setting: Setting): Promise<Figure[]> {
  const { readers, delaysMs } = setting;
  const [p50, p99]: [number[], number[]] = [[], []];
  let created = 0;
  for (let number = 0; number < rounds; number++) {
    delaysMs.length = 0;
    created += await round(setting);
    p50.push(percentile(delaysMs, 0.5));
    p99.push(percentile(delaysMs, 0.99));
  }
  const what = `${eventsPerSecond} events/s, event to its reader`;
  return [
    told(`${what}: p50`, median(p50), 'ms'),
    atMost(`${what}: p99`, median(p99), 150, 'ms'),
    exactly('events that came, each once and in order', `${inOrder(readers)}`, `${created * streamsOfAccount}`),
  ];
}

/** Counts the events that follow the one before without a gap. */
function inOrder(readers: readonly EventReader[]): number {
  const follows = ({ events }: EventReader) =>
    events.filter(({ id }, index) => index === 0 || Number(id) === Number(events[index - 1]!.id) + 1).length;
  return readers.reduce((sum, reader) => sum + follows(reader), 0);
}

type Memory = Record<(typeof processes)[number], number>;

/** Resident memory of each process, in MiB. */
function memoryOf(platform: ProcessPlatform): Memory {
  return Object.fromEntries(processes.map((name) => [name, residentMebibytes(platform.pidOf(name)!)])) as Memory;
}

function memory(before: Memory, open: Memory, after: Memory): Figure[] {
  const grown = (to: Memory) => processes.map((name) => Math.max(0, to[name] - before[name]));
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  return [
    ...processes.map((name) => told(`memory of ${name}: without streams`, before[name], 'MiB')),
    ...processes.map((name, index) => told(`more with ${streams} streams: ${name}`, grown(open)[index]!, 'MiB')),
    atMost(`more with ${streams} streams: both`, sum(grown(open)), 100, 'MiB'),
    told('the same after all rounds', sum(grown(after)), 'MiB'),
  ];
}
