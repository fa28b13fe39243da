import { type ChildProcess, spawn } from 'node:child_process';
import { createHmac, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { freePort } from '@customer-platform/deploy/local-port';
import { type Platform, rawRequest, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Event, openInbox } from './inbox.ts';
import { createReceiver, print, type Receiver } from './server.ts';

let platform: Platform;
let account: TestAccount;
let directory: string;
let file: string;
const receivers: Receiver[] = [];
const processes: ChildProcess[] = [];

beforeAll(async () => {
  // Enough attempts to outlast a slow start of the receiver.
  const env = { WEBHOOKS_RETRY_SCHEDULE: '0,1s,1s,1s,1s,2s,2s,2s,2s,5s,5s,5s' };
  platform = await startPlatform({ services: ['cdp', 'webhooks'], env });
}, 60_000);
afterAll(async () => {
  await platform?.stop();
});
beforeEach(async () => {
  account = await platform.account();
  directory = mkdtempSync(join(tmpdir(), 'webhook-receiver-'));
  file = join(directory, 'inbox.sqlite');
});
afterEach(async () => {
  for (const process of processes.splice(0)) process.kill('SIGKILL');
  for (const receiver of receivers.splice(0)) await receiver.stop();
  rmSync(directory, { recursive: true, force: true });
});

/** Starts a receiver in this process. `handled` lists its events. */
async function startHere(secret: string, port = 0) {
  const handled: Event[] = [];
  const receiver = createReceiver({ secret, file, handle: (event) => void handled.push(event) });
  await new Promise<void>((resolve) => receiver.server.listen(port, '127.0.0.1', resolve));
  receivers.push(receiver);
  return { handled, url: `http://127.0.0.1:${(receiver.server.address() as AddressInfo).port}/` };
}

/** Starts a receiver as the README says, in a separate process. `lines` returns its printed events. */
async function startProcess(secret: string, port: number) {
  const env = { ...process.env, WEBHOOK_SECRET: secret, INBOX: file, PORT: String(port) };
  const child = spawn(process.execPath, [join(import.meta.dirname, 'server.ts')], { env });
  processes.push(child);
  let output = '';
  child.stdout.on('data', (chunk) => (output += String(chunk)));
  await waitFor('the receiver to listen', () => output.includes('Receiving webhooks'));
  return { child, lines: () => output.split('\n').filter((line) => line.includes('contact.')) };
}

function processedIn(inbox: string): number {
  const database = new DatabaseSync(inbox, { readOnly: true });
  const { count } = database.prepare('select count(processed_at) as count from inbox').get() as { count: number };
  database.close();
  return count;
}

const createContact = (name: string) => account.client.cdp.contacts.create({ body: { name } });

describe('deliveries of the platform', () => {
  it('are each handled once, even if sent again', async () => {
    const port = await freePort();
    const endpoint = await account.client.webhooks.create({
      body: { url: `http://127.0.0.1:${port}/`, events: ['*'] },
    });
    const { handled } = await startHere(endpoint.secret, port);
    await createContact('Ada');
    const [first] = await waitFor('the event', () => handled.length > 0 && handled);
    expect(first).toMatchObject({ type: 'contact.created', data: { contact: { name: 'Ada' } } });

    const params = { endpoint_id: endpoint.id };
    const delivered = async () => (await account.client.webhooks.deliveries.list({ params })).data;
    const delivery = await waitFor('the delivery', async () =>
      (await delivered()).find(({ status }) => status === 'delivered'),
    );
    await account.client.webhooks.deliveries.redeliver({ params: { ...params, delivery_id: delivery.id }, body: {} });
    await waitFor('the second try', async () => (await delivered()).some(({ tries }) => tries.length === 2));
    await createContact('Ben');
    await waitFor('the next event', () => handled.length > 1);
    expect(handled.map(({ data }) => (data.contact as { name: string }).name)).toEqual(['Ada', 'Ben']);
  });

  it('survive a kill: handled events are not handled again, and missed events are handled', async () => {
    const port = await freePort();
    const endpoint = { url: `http://127.0.0.1:${port}/`, events: ['contact.*' as const] };
    const { secret } = await account.client.webhooks.create({ body: endpoint });
    const first = await startProcess(secret, port);
    await createContact('Before');
    await waitFor('the first event', () => first.lines().length === 1);
    // The receiver prints before the commit. Killed in between, it would correctly handle the event again.
    await waitFor('the commit', () => processedIn(file) === 1);
    first.child.kill('SIGKILL');
    await waitFor('the end', () => first.child.signalCode !== null);
    await createContact('Meanwhile');
    const second = await startProcess(secret, port);
    const [line] = await waitFor('the second event', () => second.lines().length > 0 && second.lines());
    // The count is in the inbox's database, so it includes the event that the first process handled.
    expect(line).toContain('contact.created (2 of its kind here) ');
    expect(line).toContain('Meanwhile');
    expect(second.lines()).toHaveLength(1);
  });
});

it('says in one line that its port is in use', async () => {
  const { url } = await startHere('whsec_');
  const env = {
    ...process.env,
    WEBHOOK_SECRET: 'whsec_',
    INBOX: join(directory, 'other.sqlite'),
    PORT: new URL(url).port,
  };
  const child = spawn(process.execPath, [join(import.meta.dirname, 'server.ts')], { env });
  processes.push(child);
  let errors = '';
  child.stderr.on('data', (chunk) => (errors += String(chunk)));
  const code = await new Promise((resolve) => child.on('close', resolve));
  expect([code, errors]).toEqual([1, `port ${env.PORT} is in use: set PORT to another port\n`]);
});

describe('a delivery that is not genuine', () => {
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  const body = JSON.stringify({ id: 'one', type: 'contact.created', data: {} });
  const now = () => Math.floor(Date.now() / 1_000);
  const signed = (at = now(), key = secret) => {
    const mac = createHmac('sha256', Buffer.from(key.slice('whsec_'.length), 'base64')).update(`one.${at}.${body}`);
    return { 'webhook-id': 'one', 'webhook-timestamp': String(at), 'webhook-signature': `v1,${mac.digest('base64')}` };
  };
  const other = `whsec_${randomBytes(32).toString('base64')}`;

  it('is rejected and not stored', async () => {
    const { url, handled } = await startHere(secret);
    const send = (headers: Record<string, string>, rawBody = body) =>
      rawRequest(url, 'POST', '', { rawBody, headers }).then(({ status }) => status);
    const forged = [
      signed(now(), other),
      signed(now() - 3_600),
      signed(now() + 3_600),
      { ...signed(), 'webhook-id': 'two' },
      { ...signed(), 'webhook-signature': '' },
      { ...signed(), 'webhook-signature': 'v1' },
      { ...signed(), 'webhook-signature': signed()['webhook-signature'].replace('v1,', 'v2,') },
      { ...signed(), 'webhook-timestamp': 'NaN' },
    ];
    for (const headers of forged) expect([headers, await send(headers)]).toEqual([headers, 401]);
    expect(await send(signed(), `${body} `)).toBe(401);
    expect(await send(signed(), ' '.repeat(1_048_577))).toBe(413);
    expect((await rawRequest(url, 'GET', '')).status).toBe(405);
    // A genuine delivery with another secret's signature before the valid one.
    const { 'webhook-signature': own } = signed();
    const both = `${signed(now(), other)['webhook-signature']} ${own}`;
    expect(await send({ ...signed(), 'webhook-signature': both })).toBe(204);
    await waitFor('the event', () => handled.length > 0);
    expect(handled).toHaveLength(1);
  });
});

describe('the inbox', () => {
  const event = (id: string) => JSON.stringify({ id, type: 'order.created', timestamp: 'now', data: {} });

  it('continues with other events while one fails, and attempts that one ten times', () => {
    let now = 0;
    const inbox = openInbox(file, () => now);
    const handled: string[] = [];
    const handle = ({ id }: Event) => {
      handled.push(id);
      if (id === 'bad') throw new Error('no such order');
    };
    for (const id of ['bad', 'good']) inbox.add(id, event(id));
    inbox.add('no JSON', '{');
    while (inbox.work(handle));
    expect(handled).toEqual(['bad', 'good']);
    expect(inbox.dueInMs()).toBe(2_000);
    for (let tries = 0; tries < 20; tries++) {
      now += inbox.dueInMs() ?? 0;
      while (inbox.work(handle));
    }
    expect(handled.filter((id) => id === 'bad')).toHaveLength(10);
    expect(inbox.dueInMs()).toBeUndefined();
    inbox.close();
  });

  it('rolls back the writes of a handler that fails', () => {
    const inbox = openInbox(file);
    inbox.add('one', event('one'));
    inbox.work((each, database) => {
      print(each, database);
      throw new Error('killed here');
    });
    expect(inbox.database.prepare("select 1 from sqlite_schema where name = 'counts'").all()).toEqual([]);
    inbox.close();
  });

  it('keeps unhandled events of a killed receiver for the next start, in order', async () => {
    const inbox = openInbox(file);
    for (const id of ['one', 'two', 'one', 'three']) inbox.add(id, event(id));
    inbox.close();
    const { handled } = await startHere('whsec_');
    await waitFor('the events', () => handled.length === 3);
    expect(handled.map(({ id }) => id)).toEqual(['one', 'two', 'three']);
  });

  it('deletes processed events after 35 days', () => {
    let now = 0;
    const inbox = openInbox(file, () => now);
    inbox.add('old', event('old'));
    while (inbox.work(() => undefined));
    now = 35 * 86_400_000;
    inbox.add('waits', event('waits'));
    inbox.forget();
    expect(inbox.database.prepare('select id from inbox').all()).toHaveLength(2);
    now++;
    inbox.forget();
    expect(inbox.database.prepare('select id from inbox').all()).toEqual([{ id: 'waits' }]);
    inbox.close();
  });
});
