import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync } from 'node:fs';
import type { Client } from '@customer-platform/client';
import { openDatabase } from '@customer-platform/service-kit';
import { type ProcessPlatform, rawRequest, startProcessPlatform, waitFor } from '@customer-platform/testkit';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { connectAs, countEvents } from './bus.ts';
import { whileHanging } from './processes.ts';
import { retryingClient } from './setup.ts';

let platform: ProcessPlatform;
let client: Client;

beforeEach(async () => {
  platform = await startProcessPlatform();
  client = retryingClient(platform.gatewayUrl, (await platform.account()).key);
}, 120_000);
afterEach(async () => {
  await platform?.stop();
}, 60_000);

const makeContacts = async (...names: string[]) => {
  for (const name of names) await client.cdp.contacts.create({ body: { name } });
};

/** Returns the names of contacts whose events webhooks recorded. A duplicate name means that an event was processed twice. */
async function recorded(): Promise<string[]> {
  const { data } = await client.events.list({ query: { type: 'contact.created', limit: 100 } });
  return data.map((event) => (event.data as { contact: { name: string } }).contact.name).sort();
}

const untilRecorded = (...names: string[]) =>
  waitFor(`the events of ${names.join(', ')}`, async () => (await recorded()).join() === names.sort().join(), 60_000);

/** Stops webhooks from consuming events while `work` runs. */
const whileWebhooksLag = (work: () => Promise<void>) => whileHanging(platform, 'webhooks', work);

async function untilOnTheBus(count: number): Promise<void> {
  const connection = await connectAs(platform, 'cdp');
  const subject = 'platform.event.public.cdp.contact.created';
  await waitFor(`${count} events on the bus`, async () => (await countEvents(connection, subject)) === count, 30_000);
  await connection.close();
}

/** Copies the database while its server is stopped. */
async function dump(): Promise<void> {
  await platform.stopServer('postgres');
  execFileSync('cp', ['-a', platform.dataOf('postgres'), `${platform.dataOf('postgres')}.dump`]);
  await platform.startServer('postgres');
}

/** Follows docs/deployment.md: stops the processes, restores the database from the dump, starts the processes. */
async function restore(onTheBus: () => Promise<void>): Promise<void> {
  await platform.stopProcesses();
  await platform.stopServer('postgres');
  rmSync(platform.dataOf('postgres'), { recursive: true });
  renameSync(`${platform.dataOf('postgres')}.dump`, platform.dataOf('postgres'));
  await platform.startServer('postgres');
  await onTheBus();
  await platform.startProcesses();
}

async function republish(): Promise<number> {
  const since = new Date(Date.now() - 3_600_000).toISOString();
  const options = { key: platform.adminToken, body: { since } };
  const response = await rawRequest(platform.adminUrl, 'POST', '/admin/events/republish', options);
  expect(response.status).toBe(202);
  return response.body.matched;
}

async function emptyTheBus(): Promise<void> {
  await platform.stopServer('nats');
  rmSync(platform.dataOf('nats'), { recursive: true });
  mkdirSync(platform.dataOf('nats'), { mode: 0o700 });
  await platform.startServer('nats');
}

it('recovers every event once on an empty bus: processed, published or unpublished at the dump', async () => {
  await makeContacts('taken');
  await untilRecorded('taken');
  await whileWebhooksLag(async () => {
    await makeContacts('published');
    await untilOnTheBus(2);
    await platform.stopServer('nats');
    await makeContacts('unpublished');
    await dump();
    await platform.startServer('nats');
  });
  await makeContacts('lost');
  await untilRecorded('taken', 'published', 'unpublished', 'lost');

  await restore(emptyTheBus);
  // Events of the last minutes are sent again automatically to the restarted server.
  await untilRecorded('taken', 'published', 'unpublished');
  expect(await republish()).toBeGreaterThanOrEqual(2);
  await makeContacts('new');
  await untilRecorded('taken', 'published', 'unpublished', 'new');
}, 240_000);

it('recovers every event once on an unchanged bus, whose consumers are ahead of the database', async () => {
  await makeContacts('taken');
  await untilRecorded('taken');
  await whileWebhooksLag(async () => {
    await makeContacts('published');
    await untilOnTheBus(2);
    await dump();
  });
  await untilRecorded('taken', 'published');

  await restore(async () => undefined);
  await makeContacts('new');
  await untilRecorded('taken', 'new');
  expect(await republish()).toBeGreaterThanOrEqual(3);
  await untilRecorded('taken', 'published', 'new');
  await makeContacts('newest');
  await untilRecorded('taken', 'published', 'new', 'newest');
}, 240_000);

it('resends automatically events that the bus acknowledged and lost, as after a power failure', async () => {
  await makeContacts('taken');
  await untilRecorded('taken');
  const data = platform.dataOf('nats');
  await platform.stopServer('nats');
  execFileSync('cp', ['-a', data, `${data}.written`]);
  await platform.startServer('nats');
  const sql = openDatabase(platform.databaseUrl, { pool: 1, service: 'test' });
  try {
    await whileWebhooksLag(async () => {
      await makeContacts('lost');
      await waitFor('it to be published', async () => {
        const [row] = await sql<{ is_published: boolean }[]>`
          select exists (select from cdp.published where envelope like '%"lost"%') as is_published`;
        return row!.is_published;
      });
      await platform.stopServer('nats');
      rmSync(data, { recursive: true });
      renameSync(`${data}.written`, data);
      await platform.startServer('nats');
    });
    await untilRecorded('taken', 'lost');
  } finally {
    await sql.end();
  }
}, 240_000);
