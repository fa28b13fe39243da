import { randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AuditEntry, LiveProcess, OperatedEndpoint, Queue } from '@customer-platform/contracts/accounts';
import { getAccountContext } from '@customer-platform/contracts/core';
import { freePort } from '@customer-platform/deploy/local-port';
import { natsServer } from '@customer-platform/deploy/servers/nats';
import { type ServerProcess, startServer } from '@customer-platform/deploy/supervisor/managed-process';
import { Bus, createLogger, type Database, openDatabase } from '@customer-platform/service-kit';
import {
  environment,
  MovableClock,
  newDataFolder,
  type Platform,
  pagesOf,
  programsFolder,
  type Receiver,
  type StartedServices,
  startPlatform,
  startReceiver,
  startServices,
  type TestAccount,
  waitFor,
} from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

const services = ['crm', 'webhooks'] as const;
/** Settings that all processes of an installation share, whichever cell they are in. */
const common = { BUS_PREFIX: `cells-${randomUUID()}`, CONTEXT_SECRET: `cells-${randomUUID()}`, LOG_LEVEL: 'silent' };

let directory: string;
let described: ServerProcess;
let nats: Awaited<ReturnType<typeof startServer>>;
let eastEnv: (name: string) => Record<string, string>;
let east: StartedServices;
let platform: Platform;
let receiver: Receiver;
let inMain: TestAccount;
let inEast: TestAccount;
const databases: Database[] = [];

beforeAll(async () => {
  directory = newDataFolder();
  const place = { directory: join(directory, 'nats'), port: await freePort(), cacheDirectory: programsFolder() };
  described = await natsServer(place);
  nats = await startServer(described);
  const ports = Object.fromEntries(await Promise.all(services.map(async (name) => [name, String(await freePort())])));
  const settings = await environment({ ...common, NATS_URL: described.url });
  // At the same addresses whenever they are started.
  eastEnv = (name) => ({ ...settings(name), PORT: ports[name]! });
  east = await startServices(services, eastEnv, new MovableClock());
  const file = join(directory, 'cells.json');
  writeFileSync(file, JSON.stringify({ east: { services: east.urls, nats: { url: described.url } } }));
  platform = await startPlatform({ services, env: { ...common, CELLS: file } });
  receiver = await startReceiver();
  inMain = await platform.account();
  inEast = await platform.account({ cell: 'east' });
}, 120_000);
afterAll(async () => {
  await platform?.stop();
  await east?.stop();
  await Promise.all(databases.map((database) => database.end()));
  await receiver?.stop();
  await nats?.stop();
  rmSync(directory, { recursive: true, force: true });
}, 60_000);

function databaseInEast(service: string): Database {
  const database = openDatabase(eastEnv(service).DATABASE_URL!, { pool: 1, service });
  databases.push(database);
  return database;
}

/** Reads a list of what all services say, once those of both cells reply in time. */
const listed = (path: string) =>
  waitFor('the services to reply', async () => {
    const { body } = await platform.admin('GET', `/admin/${path}`);
    return body.gone_in?.length === 10 && body;
  });

/** Has a service send its events of a cell again; returns the entry that records it. */
async function republished(cell: string, service = 'crm'): Promise<AuditEntry> {
  const since = new Date(Date.now() - 3_600_000).toISOString();
  const { status } = await platform.admin('POST', '/admin/events/republish', { since, cell, service });
  expect(status).toBe(202);
  return (await platform.admin('GET', '/admin/audit?limit=1')).body.data[0];
}

async function delivered(account: TestAccount): Promise<string> {
  await account.client.createEndpoint({ body: { url: `${receiver.url}/${randomUUID()}`, events: ['deal.created'] } });
  const deal = await account.client.createDeal({ body: { title: 'a deal' } });
  await waitFor('the webhook', () => receiver.received.find(({ body }) => body.includes(deal.id)));
  return deal.id;
}

describe('an account', () => {
  it('lives in the cell that its creation names, and in main otherwise', async () => {
    const [first, second] = await Promise.all(
      [inMain, inEast].map(async ({ id }) => (await platform.admin('GET', `/admin/accounts/${id}`)).body),
    );
    expect([first.cell, second.cell]).toEqual(['main', 'east']);
  });

  it('cannot be created in a cell that is not there', async () => {
    const { status, body } = await platform.admin('POST', '/admin/accounts', { name: 'A', cell: 'north' });
    expect([status, body.error.field, body.error.message]).toEqual([
      400,
      'cell',
      'cell must be one of main, east, not north',
    ]);
  });

  it('has its data, its sandbox’s and its events in its cell alone', async () => {
    const deals = await Promise.all([delivered(inMain), delivered(inEast)]);
    const ofSandbox = await inEast.testClient.createDeal({ body: { title: 'a deal' } });
    const rowsIn = async (sql: Database) =>
      (await sql<{ id: string }[]>`select id from deals where id = any(${[...deals, ofSandbox.id]}::uuid[])`).map(
        ({ id }) => id,
      );
    expect(await rowsIn(platform.database('crm'))).toEqual([deals[0]]);
    expect((await rowsIn(databaseInEast('crm'))).sort()).toEqual([deals[1], ofSandbox.id].sort());
    const eventsIn = async (sql: Database) => {
      const rows = await sql<{ account_id: string }[]>`select distinct account_id from events`;
      return rows.map((row) => row.account_id);
    };
    expect(await eventsIn(platform.database('webhooks'))).toEqual([inMain.id]);
    expect(await eventsIn(databaseInEast('webhooks'))).toEqual(expect.arrayContaining([inEast.id]));
    expect(await eventsIn(databaseInEast('webhooks'))).not.toContain(inMain.id);
  });

  it('is told of to the services of its own cell alone; those of another get an error, not that there is none: they would drop its work', async () => {
    const bus = await Bus.connect(described.url, {
      prefix: common.BUS_PREFIX,
      service: 'crm',
      log: createLogger('test', 'silent'),
      requestTimeoutMs: 10_000,
    });
    try {
      expect((await bus.ask(getAccountContext, inEast.id, {})).account?.id).toBe(inEast.id);
      await expect(bus.ask(getAccountContext, inMain.id, {})).rejects.toMatchObject({ status: 503 });
      expect(await bus.ask(getAccountContext, randomUUID(), {})).toEqual({ account: null });
    } finally {
      await bus.close();
    }
  });
});

describe('operators', () => {
  it('see the queues and processes of every cell', async () => {
    const outboxes = ((await listed('queues')).data as Queue[]).filter(({ queue }) => queue === 'outbox');
    expect(outboxes.map(({ service, cell }) => `${cell}/${service}`).sort()).toEqual(
      ['main/gateway', 'main/crm', 'main/webhooks', 'east/crm', 'east/webhooks'].sort(),
    );
    const { data, gone, gone_in } = await listed('services');
    expect((data as LiveProcess[]).map(({ service, cell }) => `${cell}/${service}`).sort()).toEqual(
      ['main/gateway', 'main/crm', 'main/webhooks', 'east/crm', 'east/webhooks'].sort(),
    );
    expect(gone).toEqual(['calendar', 'agents', 'cdp', 'catalogue', 'messaging']);
    expect(gone_in).toContainEqual({ service: 'calendar', cell: 'east' });
  });

  it('say which cell they mean, unless the account says it', async () => {
    const change = (verb: string, body: object) =>
      platform.admin('POST', `/admin/queues/webhooks/deliveries/${verb}`, { reason: 'a test', ...body });
    const refusals = [
      await change('pause', {}),
      await change('pause', { cell: 'north' }),
      await change('pause', { account: inEast.id, cell: 'main' }),
      await platform.admin('GET', '/admin/queues/webhooks/deliveries'),
    ];
    expect(refusals.map(({ status, body }) => [status, body.error.field])).toEqual(Array(4).fill([400, 'cell']));
    expect((await change('pause', { account: inEast.id })).status).toBe(204);
    const pausesIn = async (cell: string) =>
      (await platform.admin('GET', `/admin/queues/webhooks/deliveries?cell=${cell}`)).body.pauses;
    expect(await pausesIn('east')).toMatchObject([{ account: inEast.id, reason: 'a test' }]);
    expect(await pausesIn('main')).toEqual([]);
    expect(
      (await platform.admin('POST', '/admin/queues/webhooks/deliveries/resume', { account: inEast.id })).status,
    ).toBe(204);
    expect(await pausesIn('east')).toEqual([]);
    expect((await republished('east')).after).toMatchObject({ cell: 'east' });
    // The gateway's own events, which it sends to each cell from one outbox.
    const ofGateway = await waitFor('what it published', async () => {
      const entry = await republished('east', 'gateway');
      return entry.target === 'gateway' && entry;
    });
    expect(ofGateway.after).toMatchObject({ cell: 'east' });
    const { data } = await pagesOf<OperatedEndpoint>(async ({ starting_after: after }) => {
      const cursor = after ? `&starting_after=${after}` : '';
      return (await platform.admin('GET', `/admin/endpoints?limit=1${cursor}`)).body;
    });
    expect(data.map(({ account, cell }) => `${cell}/${account}`).sort()).toEqual(
      [`main/${inMain.id}`, `east/${inEast.id}`].sort(),
    );
    expect((await platform.admin('GET', '/admin/queues/gateway/outbox')).status).toBe(200);
  });
});

describe('a cell that is gone', () => {
  it('is 503 for its accounts alone; what they are told meanwhile is not lost', async () => {
    await east.stop();
    await nats.stop();
    const refused = await inEast.request('GET', '/v1/crm/deals');
    expect([refused.status, refused.body.error.code]).toEqual([503, 'service_unavailable']);
    expect((await inEast.request('GET', '/v1/me')).status).toBe(200);
    await delivered(inMain);

    const rename = (account: TestAccount, name: string) =>
      platform.admin('PATCH', `/admin/accounts/${account.id}`, { name });
    expect((await rename(inEast, 'East')).status).toBe(200);
    expect((await rename(inMain, 'Main')).status).toBe(200);
    await platform.event(inMain.id, 'account.updated', ({ account }) => account.name === 'Main');
    const outbox = async () => (await platform.admin('GET', '/admin/queues/gateway/outbox')).body as Queue;
    await waitFor('the events of east alone to wait', async () => {
      const { ready, waiting } = await outbox();
      return ready === 2 && waiting === 0;
    });

    nats = await startServer(described);
    east = await startServices(services, eastEnv, new MovableClock());
    await waitFor('east to serve again', async () => (await inEast.request('GET', '/v1/crm/deals')).status === 200);
    await waitFor('the events of east to go', async () => (await outbox()).ready === 0);
    await delivered(inEast);
  }, 120_000);
});
