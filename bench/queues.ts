import { randomUUID } from 'node:crypto';
import { createClient } from '@customer-platform/client';
import { type ProcessPlatform, rawRequest, startReceiver, waitFor } from '@customer-platform/testkit';
import postgres from 'postgres';
import { atMost, type Bench, type Figure, percentile, told } from './figures.ts';
import { fillTables } from './many-rows.ts';
import { startPlatform } from './platform.ts';

const waiting = 1_000_000;
const endpoints = 10_000;
const accounts = 1_000;
const calls = 20;
/** Time for which events go on to come while the queue is paused. */
const pausedMs = 3_000;

export const queuesBench: Bench = {
  name: 'queues',
  summary: `operators' view of ${waiting} waiting deliveries to ${endpoints} endpoints of ${accounts} accounts, and a pause under load`,
  async measure() {
    const platform = await startPlatform();
    const sql = postgres(platform.databaseUrl, { max: 1, onnotice: () => undefined });
    try {
      await fillDeliveries(sql);
      return [...(await reads(platform)), ...(await pause(platform))];
    } finally {
      await sql.end();
      await platform.stop();
    }
  },
};

/** Inserts deliveries that wait for their second try, a hundred to each endpoint. */
async function fillDeliveries(sql: postgres.Sql): Promise<void> {
  const owners = Array.from({ length: accounts }, () => randomUUID());
  await fillTables(sql, ['webhooks.endpoints', 'webhooks.deliveries', 'webhooks.queues'], async (tx) => {
    await tx`
      create temporary table made on commit drop as
      select (${owners}::uuid[])[1 + n % ${accounts}::int] as account_id, uuidv7() as endpoint_id
      from generate_series(1, ${endpoints}::int) as n`;
    await tx`
      insert into webhooks.endpoints (account_id, id, url, description, events, active, secret, created_at, updated_at, failing_since)
      select account_id, endpoint_id, 'https://hooks.example/' || endpoint_id, '', '{}', true, '\\x00', now(), now(), now() from made`;
    await tx`
      insert into webhooks.queues (account_id, endpoint_id, due_at) select account_id, endpoint_id, now() + interval '1 hour' from made`;
    await tx`
      insert into webhooks.deliveries (account_id, endpoint_id, event_id, event, url, status, step, next_try_at, created_at)
      select account_id, endpoint_id, uuidv7(), 'contact.created', '', 'pending', 1, now() + interval '1 hour', now()
      from made cross join generate_series(1, ${waiting / endpoints}::int)`;
  });
}

async function reads(platform: ProcessPlatform): Promise<Figure[]> {
  const paths = [
    ['GET /admin/queues', '/admin/queues', 300],
    ['its deliveries by account', '/admin/queues/webhooks/deliveries?by=account', 1_000],
    ['its deliveries by endpoint', '/admin/queues/webhooks/deliveries?by=endpoint', 1_000],
    ['GET /admin/endpoints, 100 of them', '/admin/endpoints?failing=true&limit=100', 1_000],
  ] as const;
  const figures: Figure[] = [];
  for (const [what, path, most] of paths) {
    const times: number[] = [];
    for (let call = 0; call <= calls; call++) {
      const began = performance.now();
      const { status, body } = await admin(platform, 'GET', path);
      if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
      // The first one opens connections.
      if (call > 0) times.push(performance.now() - began);
    }
    figures.push(
      told(`${what}, p50`, percentile(times, 0.5), 'ms'),
      atMost(`${what}, p95`, percentile(times, 0.95), most, 'ms'),
    );
  }
  return figures;
}

/** Measures how long deliveries still begin after a pause, and after its end until they go on. */
async function pause(platform: ProcessPlatform): Promise<Figure[]> {
  const receiver = await startReceiver();
  let lastAt = 0;
  receiver.respond = (_, response) => {
    lastAt = performance.now();
    response.writeHead(204).end();
  };
  const { key } = await platform.account();
  const client = createClient({ baseUrl: platform.gatewayUrl, apiKey: key });
  await client.createEndpoint({ body: { url: receiver.url, events: ['deal.created'] } });
  const create = () => client.createDeal({ body: { title: 'a deal' } });
  await create();
  await waitFor('the first delivery', () => receiver.received.length > 0);
  const path = '/admin/queues/webhooks/deliveries';
  const until = performance.now() + pausedMs;
  const { status } = await admin(platform, 'POST', `${path}/pause`, { reason: 'measured' });
  if (status !== 204) throw new Error(`the pause: ${status}`);
  const pausedAt = performance.now();
  while (performance.now() < until) await create();
  const stopped = Math.max(0, lastAt - pausedAt);
  const held = receiver.received.length;
  await admin(platform, 'POST', `${path}/resume`, {});
  const resumedAt = performance.now();
  await waitFor('them to go on', () => receiver.received.length > held);
  const resumed = performance.now() - resumedAt;
  await receiver.stop();
  return [
    atMost('last delivery begun after a pause returned', stopped, 1_000, 'ms'),
    atMost('first delivery after a resume returned', resumed, 1_500, 'ms'),
  ];
}

const admin = (platform: ProcessPlatform, method: string, path: string, body?: unknown) =>
  rawRequest(platform.adminUrl, method, path, { key: platform.adminToken, ...(body === undefined ? {} : { body }) });
