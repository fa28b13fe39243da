import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@customer-platform/deploy/local-port';
import { postgresServer } from '@customer-platform/deploy/servers/postgres';
import { startServer } from '@customer-platform/deploy/supervisor/managed-process';
import { type Database, openDatabase } from '@customer-platform/service-kit';
import {
  environment,
  MovableClock,
  newDataFolder,
  type Platform,
  type Receiver,
  type StartedServices,
  startPlatform,
  startReceiver,
  startServices,
  type TestAccount,
  waitFor,
} from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';

const common = { BUS_PREFIX: `three-${randomUUID()}`, CONTEXT_SECRET: `three-${randomUUID()}`, LOG_LEVEL: 'silent' };
const serverBefore = process.env.TEST_DATABASE_URL!;

/** Separate PostgreSQL server with the services whose data it has. */
interface Machine {
  server: Awaited<ReturnType<typeof startServer>>;
  services: StartedServices;
  database: Database;
}

let directory: string;
let crm: Machine;
let cdp: Machine;
let platform: Platform;
let receiver: Receiver;
let account: TestAccount;

beforeAll(async () => {
  directory = newDataFolder();
  crm = await startMachine('crm');
  cdp = await startMachine('cdp');
  const urls = { CRM_URL: crm.services.urls.crm!, CDP_URL: cdp.services.urls.cdp! };
  platform = await startPlatform({ services: ['calendar', 'webhooks'], env: { ...common, ...urls } });
  receiver = await startReceiver();
  account = await platform.account();
}, 120_000);
afterAll(async () => {
  process.env.TEST_DATABASE_URL = serverBefore;
  await platform?.stop();
  for (const { services, database, server } of [crm, cdp].filter(Boolean)) {
    await services.stop();
    await database.end({ timeout: 1 });
    await server.stop();
  }
  await receiver?.stop();
  rmSync(directory, { recursive: true, force: true });
}, 60_000);

/** Starts a server and, on it, one service. */
async function startMachine(name: 'crm' | 'cdp'): Promise<Machine> {
  const described = await postgresServer({ directory: join(directory, name), port: await freePort() });
  const server = await startServer(described);
  process.env.TEST_DATABASE_URL = described.url;
  try {
    const env = await environment(common);
    const services = await startServices([name], env, new MovableClock());
    return { server, services, database: openDatabase(env(name).DATABASE_URL!, { pool: 1, service: name }) };
  } finally {
    process.env.TEST_DATABASE_URL = serverBefore;
  }
}

async function schemasOf({ database }: Machine): Promise<string[]> {
  const rows = await database<{ name: string }[]>`
    select schema_name as name from information_schema.schemata where schema_name in ('gateway', 'calendar', 'cdp', 'crm', 'webhooks')`;
  return rows.map(({ name }) => name);
}

it('each service has its data on its own server, and events reach other services', async () => {
  expect([await schemasOf(crm), await schemasOf(cdp)]).toEqual([['crm'], ['cdp']]);
  const { client } = account;
  await client.webhooks.create({ body: { url: receiver.url, events: ['deal.created', 'contact.created'] } });
  const contact = await client.cdp.contacts.create({ body: { name: 'Ada' } });
  const deal = await client.crm.deals.create({ body: { title: 'a deal', contact: contact.id } });
  for (const { id } of [contact, deal]) await receiver.next(({ body }) => body.includes(id));
  expect(deal.contact).toMatchObject({ id: contact.id });
});

it('a stopped server causes 503 only for its service, which recovers when the server is back', async () => {
  await crm.server.stop();
  const gone = await account.request('POST', '/v1/crm/deals', { body: { title: 'another' } });
  expect([gone.status, gone.body.error.code]).toEqual([503, 'service_unavailable']);
  const contact = await account.client.cdp.contacts.create({ body: { name: 'Grace' } });
  await receiver.next(({ body }) => body.includes(contact.id));
  const described = await postgresServer({ directory: join(directory, 'crm'), port: Number(portOf(crm)) });
  crm.server = await startServer(described);
  const made = await waitFor('crm to go on', async () => {
    const response = await account.request('POST', '/v1/crm/deals', { body: { title: 'a third' } });
    return response.status === 201 && response.body.id;
  });
  await receiver.next(({ body }) => body.includes(made));
}, 120_000);

function portOf({ database }: Machine): number {
  return database.options.port[0]!;
}
