import { randomUUID } from 'node:crypto';
import type { AuditEntry, Queue, QueueShare } from '@customer-platform/contracts/accounts';
import {
  type Platform,
  type Receiver,
  startPlatform,
  startReceiver,
  type TestAccount,
  waitFor,
} from '@customer-platform/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

const anna = `anna-${'x'.repeat(40)}`;
let platform: Platform;
let receiver: Receiver;
let account: TestAccount;

beforeAll(async () => {
  platform = await startPlatform({ services: ['crm', 'webhooks'], env: { ADMIN_TOKENS: `anna:${anna}` } });
  receiver = await startReceiver();
});
afterAll(async () => {
  await Promise.all([platform?.stop(), receiver?.stop()]);
});
beforeEach(async () => {
  account = await platform.account();
  receiver.received.length = 0;
  receiver.respond = (_, response) => response.writeHead(204).end();
});

function admin(method: string, path: string, body?: unknown) {
  return platform.admin(method, path, body, anna);
}

/** Reads a list from all services, once all three running ones reply in time. */
const listed = (path: string) =>
  waitFor('the services to reply', async () => {
    const response = await admin('GET', `/admin/${path}`);
    return response.body.gone?.length === 5 && response;
  });

const queue = async (path: string): Promise<Queue & { top: QueueShare[] }> =>
  (await admin('GET', `/admin/queues/${path}`)).body;
const namesOf = async (query: string): Promise<string[]> => (await listed(`queues?${query}`)).body.data.map(queueName);
const queueName = ({ service, queue: name }: Queue) => `${service}/${name}`;
const change = (path: string, verb: string, body: object) => admin('POST', `/admin/queues/${path}/${verb}`, body);

async function auditOf(filter = `account=${account.id}`): Promise<AuditEntry[]> {
  return (await admin('GET', `/admin/audit?${filter}`)).body.data;
}

async function registerEndpoint(): Promise<string> {
  const body = { url: receiver.url, events: ['deal.created'] };
  return (await account.client.webhooks.create({ body })).id;
}

const createDeal = () => account.client.crm.deals.create({ body: { title: 'a deal' } });

describe('queues', () => {
  it('are listed for every service that replies; the others are gone', async () => {
    const { status, body } = await listed('queues');
    expect(status).toBe(200);
    expect(body.gone).toEqual(['calendar', 'agents', 'cdp', 'catalogue', 'messaging']);
    const names = (body.data as Queue[]).map((one) => `${one.service}/${one.queue}`);
    expect(names).toEqual(
      expect.arrayContaining([
        'gateway/outbox',
        'crm/outbox',
        'webhooks/outbox',
        'webhooks/deliveries',
        'webhooks/replays',
        'webhooks/public-events',
      ]),
    );
    expect(new Set(names).size).toBe(names.length);
    expect(body.data[0]).toMatchObject({
      ready: expect.any(Number),
      lag_seconds: expect.any(Number),
      paused: false,
      pauses: [],
    });
  });

  it('have the depth of the last hour since the start of the gateway, if requested', async () => {
    const oneSample = async () => {
      const { body } = await admin('GET', '/admin/queues?history=true');
      const outbox = (body.data as Queue[]).find(({ service, queue }) => service === 'crm' && queue === 'outbox');
      return outbox?.history?.length ? outbox.history : undefined;
    };
    // There is one sample a minute of the services that reply in time, so the first may lack crm.
    const listed = await waitFor('a sample', oneSample, 80_000);
    expect(listed[0]).toEqual({ at: expect.any(String), ready: 0, running: 0, waiting: 0, dead: 0 });
    // The next sample may have been taken since.
    const history = await waitFor('its service to reply', async () => (await queue('crm/outbox?history=true')).history);
    expect(history.slice(0, listed.length)).toEqual(listed);
    expect((await queue('crm/outbox')).history).toBeNull();
    expect((await admin('GET', '/admin/queues')).body.data[0].history).toBeNull();
  });

  it('that are unknown are 404 with the names of all queues; invalid parts are refused by name', async () => {
    const unknownId = randomUUID();
    const refusals = await Promise.all([
      admin('GET', '/admin/queues/cdb/outbox'),
      admin('GET', '/admin/queues/crm/deliveries'),
      change('crm/deliveries', 'pause', { reason: 'test' }),
      change('crm/outbox', 'pause', { reason: 'test', account: unknownId }),
      change('webhooks/deliveries', 'pause', { reason: 'test', endpoint: unknownId }),
      change('crm/outbox', 'pause', { reason: 'test', endpoint: unknownId }),
      change('crm/outbox', 'pause', {}),
      change('crm/outbox', 'retry', { account: 'x' }),
    ]);
    expect(refusals.map(({ status, body }) => [status, body.error.field ?? body.error.message])).toEqual([
      [404, expect.stringContaining('use one of: gateway, calendar')],
      [404, expect.stringContaining('it has: contacts, outbox')],
      [404, expect.stringContaining('it has: contacts, outbox')],
      [404, `There is no account ${unknownId}`],
      [404, `There is no endpoint ${unknownId}`],
      [400, 'endpoint'],
      [400, 'reason'],
      [400, 'account'],
    ]);
    expect(await auditOf('actor=anna')).toEqual([]);
  });

  it('of deliveries wait while an endpoint is paused, then continue; each change is recorded once, with its actor', async () => {
    const endpoint = await registerEndpoint();
    const part = { account: account.id, endpoint };
    for (let twice = 0; twice < 2; twice++) {
      expect((await change('webhooks/deliveries', 'pause', { ...part, reason: 'it floods them' })).status).toBe(204);
    }
    await createDeal();
    const owners = () => queue('webhooks/deliveries?by=endpoint');
    const owner = await waitFor('it to wait', async () =>
      (await owners()).top.find((one) => one.endpoint === endpoint && one.ready === 1),
    );
    expect(owner).toMatchObject({
      account: account.id,
      running: 0,
      waiting: 0,
      dead: 0,
      oldest_due_at: expect.any(String),
    });
    expect(receiver.received).toHaveLength(0);
    const { pauses, paused } = await owners();
    expect([paused, pauses]).toEqual([
      false,
      [{ ...part, reason: 'it floods them', actor: 'anna', at: expect.any(String) }],
    ]);
    const { body: listed } = await admin('GET', '/admin/endpoints?failing=false&limit=100');
    expect(listed.data).toContainEqual({
      id: endpoint,
      account: account.id,
      url: receiver.url,
      active: true,
      paused: true,
      disabled_reason: null,
      failing_since: null,
      pending: 1,
      last_error: null,
      last_error_at: null,
      last_error_trace_id: null,
    });
    for (let twice = 0; twice < 2; twice++) {
      expect((await change('webhooks/deliveries', 'resume', part)).status).toBe(204);
    }
    await waitFor('the delivery', () => receiver.received.length === 1);
    const recorded = (await auditOf()).map(({ actor, action, target, before, after }) => [
      actor,
      action,
      target,
      before ?? after,
    ]);
    expect(recorded.slice(0, 2)).toEqual([
      ['anna', 'queues.resume', 'webhooks/deliveries', { ...part, actor: 'anna', reason: 'it floods them' }],
      ['anna', 'queues.pause', 'webhooks/deliveries', { ...part, reason: 'it floods them' }],
    ]);
    expect(recorded.slice(2).map(([actor, action]) => [actor, action])).toEqual([
      ['admin', 'keys.create'],
      ['admin', 'keys.create'],
      ['admin', 'accounts.create'],
    ]);
  });

  it('are retried: a delivery that waits after a failure is attempted now, as the next of its schedule', async () => {
    const endpoint = await registerEndpoint();
    receiver.respond = (_, response) => response.writeHead(500).end();
    await createDeal();
    const { client } = account;
    const delivery = async () => (await client.webhooks.deliveries.list({ params: { endpoint_id: endpoint } })).data[0];
    for (let tries = 1; tries <= 2; tries++) {
      await waitFor('a failed attempt', async () => (await delivery())?.tries.length === tries);
      if (tries === 1) platform.clock.advance(6_000);
    }
    const owner = (await queue('webhooks/deliveries?by=endpoint')).top.find((one) => one.endpoint === endpoint);
    expect(owner).toMatchObject({
      ready: 0,
      waiting: 1,
      failed_waiting: 1,
      last_error: 'HTTP 500',
      failing_since: expect.any(String),
    });
    const { last_error, failed_waiting } = await queue('webhooks/deliveries');
    expect([last_error, failed_waiting]).toEqual([expect.stringContaining('500'), 1]);
    const { body: failing } = await admin('GET', '/admin/endpoints?failing=true');
    expect(failing.data).toContainEqual(expect.objectContaining({ id: endpoint, pending: 1, last_error: 'HTTP 500' }));
    const listed = async (filter: string) =>
      (await admin('GET', `/admin/endpoints?${filter}`)).body.data.map(({ id }: { id: string }) => id);
    const other = await platform.account();
    const { id: otherEndpoint } = await other.client.webhooks.create({
      body: { url: receiver.url, events: ['deal.won'] },
    });
    expect(await listed(`account=${account.id}`)).toEqual([endpoint]);
    expect(await listed(`account=${account.id}&failing=false`)).toEqual([]);
    expect(await listed(`endpoint=${otherEndpoint}`)).toEqual([otherEndpoint]);
    expect(await listed(`account=${account.id}&endpoint=${otherEndpoint}`)).toEqual([]);
    receiver.respond = (_, response) => response.writeHead(204).end();
    const retried = await change('webhooks/deliveries', 'retry', { endpoint });
    expect([retried.status, retried.body]).toEqual([202, { matched: 1 }]);
    const done = await waitFor('it to be delivered', async () => {
      const one = await delivery();
      return one?.status === 'delivered' && one;
    });
    expect(done.tries.map(({ number, trigger }) => [number, trigger])).toEqual([
      [1, 'scheduled'],
      [2, 'scheduled'],
      [3, 'scheduled'],
    ]);
    expect((await change('webhooks/deliveries', 'retry', { endpoint })).body).toEqual({ matched: 0 });
  });

  it('of an outbox and of a consumer wait for a paused account, and not for others', async () => {
    const other = await platform.account();
    const heard = (one: TestAccount) => platform.events(one.id).filter(({ type }) => type === 'deal.created').length;
    const reason = 'test';
    await change('crm/outbox', 'pause', { account: account.id, reason });
    await createDeal();
    await other.client.crm.deals.create({ body: { title: 'of another' } });
    await waitFor('the other', () => heard(other) === 1);
    const left = await waitFor('the other to be gone from the outbox', async () => {
      const { top } = await queue('crm/outbox');
      return top.length === 1 && top;
    });
    expect(left).toMatchObject([{ account: account.id, ready: 1 }]);
    expect(heard(account)).toBe(0);
    await change('webhooks/public-events', 'pause', { account: account.id, reason });
    await change('crm/outbox', 'resume', { account: account.id });
    await waitFor('it to be published', () => heard(account) === 1);
    const setAside = async () => (await queue('webhooks/public-events')).top;
    await waitFor('it to be set aside', async () =>
      (await setAside()).some((one) => one.account === account.id && one.ready === 1),
    );
    const events = async (of: TestAccount) =>
      (await of.client.events.list({ query: { type: 'deal.created' } })).data.length;
    await waitFor('the event of the other', async () => (await events(other)) === 1);
    expect(await events(account)).toBe(0);
    await change('webhooks/public-events', 'resume', { account: account.id });
    await waitFor('the event', async () => (await events(account)) === 1);
    expect(await setAside()).toEqual([]);
  });

  it('of a consumer wait on the bus while the whole consumer is paused', async () => {
    await change('webhooks/public-events', 'pause', { reason: 'test' });
    await createDeal();
    const waiting = await waitFor('it to wait', async () => {
      const one = await queue('webhooks/public-events');
      return one.ready > 0 && one;
    });
    expect(waiting).toMatchObject({ paused: true, pauses: [{ reason: 'test', actor: 'anna' }] });
    expect(await namesOf('attention=true')).toContain('webhooks/public-events');
    expect(await namesOf('attention=true')).not.toContain('gateway/outbox');
    expect(await namesOf('attention=false')).not.toContain('webhooks/public-events');
    expect(await namesOf('attention=false')).toContain('gateway/outbox');
    await change('webhooks/public-events', 'resume', {});
    await waitFor(
      'the event',
      async () => (await account.client.events.list({ query: { type: 'deal.created' } })).data.length === 1,
    );
    await waitFor('nothing to be left', async () => (await queue('webhooks/public-events')).ready === 0);
  });
});

it('names missing resources without reference to an account, since operators have none', async () => {
  const unknownId = randomUUID();
  const paths = [
    `accounts/${unknownId}`,
    `accounts/${unknownId}/keys`,
    'dead/none',
    `accounts/${account.id}/members/${unknownId}`,
  ];
  const refusals = await Promise.all(paths.map((path, index) => admin(index < 3 ? 'GET' : 'DELETE', `/admin/${path}`)));
  expect(refusals.map(({ status, body }) => [status, body.error.message])).toEqual([
    [404, 'There is no such account'],
    [404, 'There is no such account'],
    [404, expect.stringMatching(/^There is no such dead event: /)],
    [404, 'There is no such member'],
  ]);
});

it('lists the live processes', async () => {
  const { body } = await listed('services');
  expect(body.data.map(({ service }: { service: string }) => service)).toEqual(['gateway', 'crm', 'webhooks']);
  expect(body.gone).toEqual(['calendar', 'agents', 'cdp', 'catalogue', 'messaging']);
  expect(body.data[1]).toEqual({
    service: 'crm',
    instance: expect.any(String),
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    started_at: expect.any(String),
    host: expect.any(String),
    pid: process.pid,
    in_flight: 0,
    event_loop_lag_ms: expect.any(Number),
    memory_bytes: expect.any(Number),
    pool: { size: expect.any(Number), used: expect.any(Number), waiting: 0 },
    migrations: expect.stringMatching(/^\d{4}_/),
    waiting_for: null,
    refused: [],
  });
});
