import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ProcessPlatform, rawRequest, waitFor } from '@customer-platform/testkit';
import type postgres from 'postgres';
import { atMost, type Bench, exactly, type Figure, told } from './figures.ts';
import { connect, type Receiver, servers, startPlatform, startReceiver } from './harness.ts';
import { proportionalMebibytes, sum } from './process-usage.ts';
import { soakCustomers } from './soak-customers.ts';
import { SoakLoad } from './soak-load.ts';

const minutes = Number(process.env.SOAK_MINUTES ?? 60);
const requestsPerSecond = 40;
const minuteMs = 60_000;
/** Time after which all keep-alive connections are closed. */
const idleMs = 45_000;
/** Longest wait until all work is done: longer than the pause before any repetition. */
const drainMs = 180_000;

interface Setting {
  platform: ProcessPlatform;
  sql: postgres.Sql;
  receiver: Receiver;
  load: SoakLoad;
  /** Ids of the events that arrived at the endpoint, and of the messages at the provider. */
  arrived: Set<string>;
}

export const soakBench: Bench = {
  name: 'soak',
  summary: `mixed traffic of ${minutes} minutes, a tenth of the clients going away, and a kill every minute`,
  takesMinutes: minutes,
  async measure() {
    const receiver = await startReceiver();
    const platform = await startPlatform();
    const load = new SoakLoad(platform.gatewayUrl, await soakCustomers(platform, receiver));
    return await soak({ platform, sql: connect(platform), receiver, load, arrived: new Set() });
  },
};

async function soak(setting: Setting): Promise<Figure[]> {
  const { platform, load } = setting;
  // Memory is first measured after a tenth of the time, when it no longer grows from warming up.
  await load.run(requestsPerSecond, Math.max(1, minutes / 10) * minuteMs);
  await drained(setting);
  const before = held(platform);
  let kills = 0;
  const names = [...platform.processNames, ...servers];
  for (let minute = 0; minute < minutes; minute++) {
    const name = names[minute % names.length]!;
    const killing = sleep(minuteMs / 4).then(async () => {
      await kill(platform, name);
      kills++;
    });
    await Promise.all([load.run(requestsPerSecond, minuteMs), killing, collectArrivals(setting)]);
  }
  const left = await drained(setting);
  const after = held(platform);
  load.close();
  for (const [what, count] of load.failures) console.log(`${count} × ${what}`);
  return [
    told('requests / of them by clients that went away / repeated', `${load.sent} / ${load.left} / ${load.repeated}`),
    told('minutes / kills', `${minutes} / ${kills}`),
    exactly('requests that failed for good', String(sum(load.failures.values())), '0'),
    ...(await lost(setting)),
    exactly('left in queues, ready, running, waiting or dead', left, '0'),
    atMost('memory of gateway and services, after ÷ before', after.processMebibytes / before.processMebibytes, 1.05),
    told('memory of gateway and services after', after.processMebibytes, 'MiB'),
    told('memory of the servers, after ÷ before', after.serverMebibytes / before.serverMebibytes),
    atMost('open sockets and files of gateway and services, after ÷ before', after.files / before.files, 1.05),
    exactly('transactions left open', String(await openTransactions(setting.sql)), '0'),
  ];
}

/** Kills a process or a server. A server is restarted here, a process by its supervisor. */
async function kill(platform: ProcessPlatform, name: string): Promise<void> {
  platform.kill(name);
  const server = servers.find((one) => one === name);
  if (server) await platform.startServer(server);
}

async function collectArrivals({ receiver, arrived }: Setting): Promise<void> {
  for (const { id } of await receiver.arrivals()) arrived.add(id);
}

/** Waits until no work is left, and then until no connection is kept open. Returns how much work is left. */
async function drained(setting: Setting): Promise<string> {
  const left = async () => {
    await collectArrivals(setting);
    return await leftInQueues(setting.platform);
  };
  await waitFor('everything to be done', async () => (await left()) === 0 || undefined, drainMs).catch(() => undefined);
  await sleep(idleMs);
  return String(await left());
}

interface Queue {
  ready: number;
  running: number;
  waiting: number;
  dead: number;
  oldest_due_at: string | null;
}

/** Returns how much work is due within the hour; later work is ignored, because the nightly search for duplicates is always waiting. */
async function leftInQueues({ adminUrl, adminToken }: ProcessPlatform): Promise<number> {
  const { status, body, text } = await rawRequest(adminUrl, 'GET', '/admin/queues', { key: adminToken });
  if (status !== 200) throw new Error(`/admin/queues returned ${status}: ${text}`);
  const soon = Date.now() + 60 * minuteMs;
  const left = ({ ready, running, waiting, dead, oldest_due_at }: Queue) =>
    ready + running + dead + (oldest_due_at && Date.parse(oldest_due_at) < soon ? waiting : 0);
  return sum((body as { data: Queue[] }).data.map(left));
}

/** Memory, open files and sockets of a platform's processes. */
function held(platform: ProcessPlatform) {
  const pids = platform.processNames.map((name) => platform.pidOf(name)!);
  return {
    processMebibytes: proportionalMebibytes(pids),
    serverMebibytes: proportionalMebibytes(servers.map((name) => platform.pidOf(name)!)),
    files: sum(pids.map((pid) => readdirSync(`/proc/${pid}/fd`).length)),
  };
}

/** Returns the figures of resources that responses confirmed: missing ones, duplicates, and those whose event did not arrive. */
async function lost({ sql, load, arrived }: Setting): Promise<Figure[]> {
  const eventIds = new Map<string, string>();
  const rows = await sql<{ id: string; type: string; resource: string }[]>`
    select id, type, (envelope::jsonb #>> array['data', split_part(type, '.', 1), 'id']) as resource from webhooks.events
    where type in ('contact.created', 'deal.created', 'order.created', 'appointment.booked', 'message.sent', 'message.failed')`;
  for (const { id, type, resource } of rows) eventIds.set(`${type.split('.', 1)[0]} ${resource}`, id);
  const named = load.made.map(({ kind, id }) => `${kind} ${id}`);
  const unrecorded = named.filter((name) => !eventIds.has(name));
  const undelivered = named.filter((name) => eventIds.has(name) && !arrived.has(eventIds.get(name)!));
  const [doubled] = await sql<{ count: number }[]>`
    select count(*)::int as count from (
      select name from cdp.contacts where name like 'Soak %' group by account_id, name having count(*) > 1) as twice`;
  return [
    told('resources made', named.length),
    exactly('of them without an event', String(unrecorded.length), '0'),
    exactly('of their events that did not arrive', String(undelivered.length), '0'),
    exactly('contacts made twice by a request that was repeated', String(doubled!.count), '0'),
  ];
}

async function openTransactions(sql: postgres.Sql): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from pg_stat_activity
    where datname = current_database() and state like 'idle in transaction%'`;
  return row!.count;
}
