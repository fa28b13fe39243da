import type { Database } from '@customer-platform/service-kit';
import {
  type Platform,
  type Receiver,
  startPlatform,
  startReceiver,
  type TestAccount,
  waitFor,
} from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { deliveriesTo, delivery, earnCap, emitContactCreated, register } from '../../test/webhooks.ts';

let platform: Platform;
let sql: Database;
const receivers: Receiver[] = [];

// No attempt times out during a test, so waiting for a hanging one would fail the test. At most 256 attempts are in flight.
beforeAll(async () => {
  const env = { WEBHOOKS_TIMEOUT_MS: '60000', WEBHOOKS_MAX_IN_FLIGHT: '64' };
  platform = await startPlatform({ services: ['cdp', 'webhooks'], env });
  sql = platform.database('webhooks');
});
afterEach(async () => {
  await Promise.all(receivers.splice(0).map((receiver) => receiver.stop()));
});
afterAll(() => platform.stop());

async function newReceiver(): Promise<Receiver> {
  const receiver = await startReceiver();
  receivers.push(receiver);
  return receiver;
}

/** Starts a receiver that never responds, and counts its open requests. */
async function hangingReceiver() {
  const receiver = await newReceiver();
  const open = { now: 0 };
  receiver.respond = (_, response) => {
    open.now++;
    response.on('close', () => open.now--);
  };
  return { receiver, open };
}

/** In sequence, since many at once would measure the load of the machine. */
async function accounts(count: number): Promise<TestAccount[]> {
  const made: TestAccount[] = [];
  while (made.length < count) made.push(await platform.account());
  return made;
}

/** Registers endpoints in sequence, because the process meanwhile has hundreds of attempts to end. */
async function registerMany(account: TestAccount, url: string, count = 20) {
  const endpoints: Awaited<ReturnType<typeof register>>[] = [];
  while (endpoints.length < count) endpoints.push(await register(account, url));
  return endpoints;
}

const emitMany = (account: TestAccount, count: number) =>
  Promise.all(Array.from({ length: count }, (_, i) => emitContactCreated(account, `Contact ${i}`)));

/** Expects the healthy endpoints of a known and a new account to receive events while others hang. */
async function expectHealthyServed(known: TestAccount, healthy: Receiver, others: TestAccount[]): Promise<void> {
  const before = healthy.received.length;
  const fresh = await platform.account();
  await register(fresh, healthy.url);
  await Promise.all([known, fresh].map((account) => emitMany(account, 20)));
  await waitFor('the healthy endpoints to have all', () => healthy.received.length === before + 40, 20_000);
  const ids = others.map(({ id }) => id);
  expect(await sql`select from tries where account_id = any(${ids}::uuid[]) and error = 'timeout'`).toHaveLength(0);
}

describe('endpoints that hang', () => {
  it('120 of six accounts do not delay healthy ones', async () => {
    const [known, ...others] = await accounts(7);
    const [{ receiver: hanging }, healthy] = [await hangingReceiver(), await newReceiver()];
    const endpoint = await register(known!, healthy.url);
    await earnCap(known!, endpoint.id);
    for (const other of others) await registerMany(other, hanging.url);
    await Promise.all(others.map((other) => emitMany(other, 12)));
    await waitFor('the others to hang', () => hanging.received.length >= 60);
    await expectHealthyServed(known!, healthy, others);
  }, 120_000);

  it('600 of thirty accounts do not delay healthy ones, even if they responded before', async () => {
    const [known, ...others] = await accounts(31);
    const [hanging, healthy] = [await newReceiver(), await newReceiver()];
    const endpoint = await register(known!, healthy.url);
    await earnCap(known!, endpoint.id);
    for (const other of others) await registerMany(other, hanging.url);
    await Promise.all(others.map((other) => emitContactCreated(other)));
    await waitFor('all to have responded', () => hanging.received.length === 600, 20_000);
    hanging.respond = () => undefined;
    await Promise.all(others.map((other) => emitMany(other, 3)));
    await waitFor('the others to hang', () => hanging.received.length >= 700, 20_000);
    await expectHealthyServed(known!, healthy, others);
  }, 180_000);

  it('do not delay a healthy one of the same account', async () => {
    const account = await platform.account();
    const [{ receiver: hanging }, healthy] = [await hangingReceiver(), await newReceiver()];
    await registerMany(account, hanging.url, 10);
    await register(account, healthy.url);
    await emitMany(account, 10);
    await waitFor('the others to hang', () => hanging.received.length >= 10);
    await emitMany(account, 10);
    await waitFor('the healthy endpoint to have all', () => healthy.received.length === 20);
    expect(hanging.received).toHaveLength(10);
  });

  it('have one attempt in flight while they are unknown', async () => {
    const account = await platform.account();
    const [{ receiver: hanging }, witness] = [await hangingReceiver(), await newReceiver()];
    const unknown = await register(account, hanging.url, { events: ['contact.created'] });
    await emitMany(account, 20);
    await waitFor('all to be recorded', async () => (await deliveriesTo(account, unknown.id)).length === 20);
    await waitFor('the first attempt', () => hanging.received.length > 0);
    // The witness receives only events emitted after its registration. Once it has them, waiting deliveries would have been sent.
    const { id } = await register(account, witness.url);
    await emitMany(account, 5);
    await account.client.webhooks.test({ params: { endpoint_id: id } });
    await waitFor('the witness', () => witness.received.length === 6);
    expect(hanging.received).toHaveLength(1);
  });
});

describe('the attempts of an endpoint', () => {
  it('end when it is deleted, however often it is created again: connections close and nothing remains', async () => {
    const account = await platform.account();
    const { receiver: hanging, open } = await hangingReceiver();
    const ids: string[] = [];
    for (let round = 1; round <= 6; round++) {
      const endpoints = await registerMany(account, hanging.url);
      ids.push(...endpoints.map((endpoint) => endpoint.id));
      await emitContactCreated(account);
      await waitFor('all to hang', () => hanging.received.length === round * 20);
      expect(open.now).toBe(20);
      await Promise.all(endpoints.map(({ id }) => account.client.webhooks.delete({ params: { endpoint_id: id } })));
      await waitFor('the connections to be closed', () => open.now === 0);
    }
    const rows = () => sql`
      select d.status, d.reason, d.next_try_at, t.number, t.status as answer, t.error from deliveries d
      left join tries t on t.account_id = d.account_id and t.delivery_id = d.id where d.endpoint_id = any(${ids}::uuid[])`;
    const tried = await waitFor('all attempts to be written', async () => {
      const found = await rows();
      return found.every((row) => row.number !== null) ? found : undefined;
    });
    const ended = { status: 'failed', reason: 'endpoint_deleted', next_try_at: null };
    expect([...tried]).toEqual(Array(120).fill({ ...ended, number: 1, answer: null, error: 'http' }));
    await waitFor('their queues to be gone', async () => {
      return (await sql`select from queues where account_id = ${account.id}`).length === 0;
    });
  }, 120_000);

  it('end when it is disabled and say nothing about it: once enabled, it receives redeliveries', async () => {
    const account = await platform.account();
    const { receiver, open } = await hangingReceiver();
    const endpoint = await register(account, receiver.url);
    const params = { endpoint_id: endpoint.id };
    const sent = await account.client.webhooks.test({ params });
    await waitFor('the attempt', () => open.now === 1);
    await account.client.webhooks.update({ params, body: { active: false } });
    await waitFor('the connection to be closed', () => open.now === 0);
    const ended = await delivery(account, endpoint.id, (one) => one.status === 'failed' && one.tries.length === 1);
    expect([ended.reason, ended.tries[0]]).toMatchObject(['endpoint_disabled', { status: null, error: 'http' }]);
    const [row] = await sql`select failing_since, disabled_reason from endpoints where id = ${endpoint.id}`;
    expect(row).toEqual({ failing_since: null, disabled_reason: null });
    receiver.respond = (_, response) => response.writeHead(204).end();
    await account.client.webhooks.update({ params, body: { active: true } });
    await account.client.webhooks.deliveries.redeliver({ params: { ...params, delivery_id: sent.id } });
    const done = await delivery(account, endpoint.id, (one) => one.status === 'delivered');
    expect([done.id, done.tries.length, (await deliveriesTo(account, endpoint.id)).length]).toEqual([sent.id, 2, 1]);
  });
});
