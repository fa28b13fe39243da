import { type ProcessPlatform, waitFor } from '@customer-platform/testkit';
import postgres from 'postgres';
import { type Child, startChild } from './child-process.ts';
import { atLeast, atMost, type Bench, type Figure, median, percentile, told } from './figures.ts';
import { closedLoop, requestBytes } from './load.ts';
import { insertDeliveries } from './many-deliveries.ts';
import { startPlatform } from './platform.ts';
import { untilIdle } from './process-usage.ts';
import { arrivalsAt, type Customer, customer, publish } from './webhooks.ts';

const tries = 10_000_000;
const triesPerDelivery = 4;
const days = 30;
const accounts = 10;
const rounds = 3;
const backlog = 20_000;
const calls = 200;
/** Warm-up calls of each list, not counted: connections are opened and query plans settle. */
const warming = 10;
const dayMs = 86_400_000;
/** As the service's (packages/service-kit/src/database/schema/partitions.sql.ts). */
const dropLockMs = 50;
const mostAttempts = 100;

const tables = [
  { table: 'events', days: 7 },
  { table: 'deliveries', days: 7 },
  { table: 'tries', days: 1 },
] as const;

interface Setting {
  platform: ProcessPlatform;
  sql: postgres.Sql;
  receiver: Child;
  customers: Customer[];
}

export const partitionsBench: Bench = {
  name: 'partitions',
  summary: `deliveries beside ${tries} tries of ${days} days, lists of them, and the end of a day while deliveries go on`,
  async measure() {
    const receiver = await startChild('receiver.ts');
    let platform: ProcessPlatform | undefined;
    let sql: postgres.Sql | undefined;
    try {
      platform = await startPlatform();
      sql = postgres(platform.databaseUrl, { max: 4, onnotice: () => undefined });
      await makePastPartitions(sql);
      const customers = await Promise.all(Array.from({ length: accounts }, () => customer(platform!, receiver)));
      const setting: Setting = { platform, sql, receiver, customers };
      const alone = await deliveriesPerSecond(setting);
      const began = performance.now();
      await insertDeliveries(sql, customers, { count: tries / triesPerDelivery, triesEach: triesPerDelivery, days });
      const seconds = (performance.now() - began) / 1_000;
      const beside = await deliveriesPerSecond(setting);
      return [
        told('deliveries a second, partitions empty', alone, '/s'),
        told(`deliveries a second, ${tries} tries stored`, beside, '/s'),
        atLeast('the second ÷ the first', beside / alone, 0.9),
        ...(await lists(setting)),
        ...(await drops(setting)),
        told('making these rows', seconds, 's'),
      ];
    } finally {
      await sql?.end();
      await platform?.stop();
      await receiver.stop();
    }
  },
};

const uuidAt = (ms: number) =>
  `${ms
    .toString(16)
    .padStart(12, '0')
    .replace(/^(.{8})/, '$1-')}-0000-0000-000000000000`;

/** Puts partitions of the last month in the place of those that hold what was there before: as if they had been made each day. */
async function makePastPartitions(sql: postgres.Sql): Promise<void> {
  await sql.begin(async (tx) => {
    for (const { table, days: perBlock } of tables) {
      const [before] = await tx<{ until: string }[]>`
        select substring(pg_get_expr(relpartbound, oid) from 'TO \\(''([0-9a-f-]{36})') as until
        from pg_class where oid = ${`webhooks.${table}_before`}::regclass`;
      const untilMs = Number.parseInt(before!.until.slice(0, 13).replace('-', ''), 16);
      const blockMs = perBlock * dayMs;
      await tx`drop table ${tx(`webhooks.${table}_before`)}`;
      const first = Math.floor((Date.now() - (days + 1) * dayMs) / blockMs) * blockMs;
      for (let from = first; from < untilMs; from += blockMs) {
        const name = `${table}_${new Date(from).toISOString().slice(0, 10).replaceAll('-', '')}`;
        const [low, high] = [uuidAt(from), uuidAt(Math.min(from + blockMs, untilMs))];
        await tx.unsafe(`create table webhooks.${name} partition of webhooks.${table} for values from ('${low}') to ('${high}');
          alter table webhooks.${name} owner to platform_webhooks`);
      }
    }
  });
}

/** Measures a backlog that was published while the service stood still: from when it goes on until all is recorded as delivered. */
async function deliveriesPerSecond(setting: Setting): Promise<number> {
  const rates: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const rate = await drainBacklog(setting);
    if (round > 0) rates.push(rate); // the first warms up
  }
  return median(rates);
}

async function drainBacklog(
  { platform, sql, receiver, customers }: Setting,
  meanwhile?: () => Promise<void>,
): Promise<number> {
  const pid = platform.pidOf('webhooks')!;
  await untilIdle([pid], 20_000);
  await arrivalsAt(receiver);
  const [{ id: first }] = await sql<[{ id: string }]>`select uuidv7() as id`;
  process.kill(pid, 'SIGSTOP');
  try {
    await publish(sql, customers, backlog);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  const began = performance.now();
  const working = meanwhile?.();
  // Rows are counted only once all have come: counting reads a whole week.
  let arrived = 0;
  await waitFor(
    'the backlog to come',
    async () => {
      arrived += (await arrivalsAt(receiver)).length;
      return arrived >= backlog;
    },
    120_000,
  );
  const isDelivered = async () => {
    const [row] = await sql<{ count: number }[]>`
      select count(*)::int as count from webhooks.deliveries where id >= ${first} and status = 'delivered' and tries_made > 0`;
    return row!.count >= backlog;
  };
  await waitFor('the backlog to be delivered', isDelivered, 120_000);
  const seconds = (performance.now() - began) / 1_000;
  await working;
  return backlog / seconds;
}

/** Measures pages of one customer's deliveries and events, in turn and alone. */
async function lists({ platform, sql, customers }: Setting): Promise<Figure[]> {
  const { id, key, endpoint } = customers[0]!;
  const [old] = await sql<{ id: string; event_id: string }[]>`
    select id, event_id from webhooks.deliveries
    where account_id = ${id} and endpoint_id = ${endpoint} and created_at < now() - interval '20 days' order by created_at desc limit 1`;
  const path = `/v1/webhooks/${endpoint}/deliveries`;
  const pages = [
    ['deliveries', `${path}?limit=100`],
    ['deliveries, from 20 days ago', `${path}?limit=100&starting_after=${old!.id}`],
    ['deliveries that were delivered', `${path}?limit=100&status=delivered`],
    ['one delivery', `${path}/${old!.id}`],
    ['events', '/v1/events?limit=100'],
    ['events of a kind, from 20 days ago', `/v1/events?limit=100&type=contact.created&starting_after=${old!.event_id}`],
  ] as const;
  const url = platform.gatewayUrl;
  const requests = pages.map(([, page]) => requestBytes(url, `GET ${page}`, { authorization: `Bearer ${key}` }));
  let sent = 0;
  const next = () => (sent < (calls + warming) * pages.length ? requests[sent++ % pages.length] : undefined);
  const { latenciesMs, statuses } = await closedLoop({ url, connections: 1, next });
  if (statuses[200] !== sent) throw new Error(`lists got ${JSON.stringify(statuses)}`);
  return pages.flatMap(([what], page) => {
    const counted = latenciesMs.filter((_, index) => index % pages.length === page).slice(warming);
    return [
      told(`${what}: p50`, percentile(counted, 0.5), 'ms'),
      atMost(`${what}: p99`, percentile(counted, 0.99), 50, 'ms'),
    ];
  });
}

/** Drops the oldest partition of each table while a backlog is delivered, and measures what others wait meanwhile. */
async function drops(setting: Setting): Promise<Figure[]> {
  const { sql } = setting;
  const took: Record<string, { ms: number; attempts: number }> = {};
  const probes = { quiet: [] as number[], dropping: [] as number[] };
  let into = probes.quiet;
  let isOver = false;
  const probe = async () => {
    while (!isOver) {
      const [began, to] = [performance.now(), into];
      // Of all partitions, as what is due is looked for.
      await sql`select from webhooks.deliveries where account_id = ${setting.customers[1]!.id} and status = 'pending' limit 1`;
      await sql`select from webhooks.tries where account_id = ${setting.customers[1]!.id} limit 1`;
      to.push(performance.now() - began);
    }
  };
  const probing = probe();
  await drainBacklog(setting);
  await drainBacklog(setting, async () => {
    into = probes.dropping;
    for (const { table } of tables) took[table] = await dropOldest(sql, table);
  });
  isOver = true;
  await probing;
  const longest = (values: number[]) => Math.max(0, ...values);
  return [
    ...tables.flatMap(({ table, days: perBlock }) => {
      const what = `${table}: dropping ${perBlock === 1 ? 'a day' : 'a week'} while deliveries go on`;
      return [atMost(what, took[table]!.ms, 1_000, 'ms'), told(`${table}: attempts`, took[table]!.attempts)];
    }),
    told('longest wait of somebody who reads all partitions: without drops', longest(probes.quiet), 'ms'),
    atMost('the same with drops', longest(probes.dropping), 1_000, 'ms'),
  ];
}

/** Drops a table's oldest partition as the service does; returns the time of the attempt that succeeded. */
async function dropOldest(sql: postgres.Sql, table: string): Promise<{ ms: number; attempts: number }> {
  const [oldest] = await sql<{ name: string }[]>`
    select inhrelid::regclass::text as name from pg_inherits where inhparent = ${`webhooks.${table}`}::regclass order by 1 limit 1`;
  for (let attempts = 1; attempts <= mostAttempts; attempts++) {
    const began = performance.now();
    const isDropped = await sql
      .begin(async (tx) => {
        await tx.unsafe(`set local lock_timeout = ${dropLockMs}; drop table ${oldest!.name}`);
        return true;
      })
      .catch((error: { code?: string }) => {
        if (error.code !== '55P03') throw error;
        return false;
      });
    if (isDropped) return { ms: performance.now() - began, attempts };
  }
  throw new Error(`${oldest!.name} could not be dropped in ${mostAttempts} attempts`);
}
