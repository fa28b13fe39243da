import { Clocks, createLogger, type Database, inTransaction } from '@customer-platform/service-kit';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { register } from '../../test/webhooks.ts';
import type { TryOutcome } from './outcome.ts';
import { OutcomeWriter } from './outcome-writer.ts';

let platform: Platform;
let sql: Database;

beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'webhooks'] });
  sql = platform.database('webhooks');
});
afterAll(async () => {
  await platform.stop();
});

/** Returns the outcome of an attempt for a new delivery that no dispatcher claims, because its endpoint is disabled. */
async function anOutcome(change: Partial<TryOutcome> = {}): Promise<TryOutcome> {
  const account = await platform.account();
  const endpoint = await register(account, 'https://93.184.216.34/', { active: false });
  const { id } = await account.client.webhooks.test({ params: { endpoint_id: endpoint.id } });
  return {
    accountId: account.id,
    endpointId: endpoint.id,
    deliveryId: id,
    run: 0,
    at: platform.clock.now(),
    url: endpoint.url,
    httpStatus: 500,
    error: null,
    body: '',
    durationMs: 1,
    isManual: false,
    status: 'pending',
    reason: null,
    isAborted: false,
    nextTryAt: platform.clock.now(),
    disable: null,
    ...change,
  };
}

function writerOf(isWritten: () => void = () => undefined) {
  const written: TryOutcome[] = [];
  const log = createLogger('webhooks', 'silent');
  const writer = new OutcomeWriter(sql, new Clocks(platform.clock.now), log, (batch) => {
    isWritten();
    written.push(...batch);
  });
  return { writer, written };
}

const triesOf = async ({ deliveryId }: TryOutcome) => {
  return await sql<{ number: number; status: number }[]>`
    select number, status from tries where delivery_id = ${deliveryId} order by number`;
};

it('two outcomes of one delivery that wait together are two attempts', async () => {
  const { writer, written } = writerOf();
  const first = await anOutcome();
  const second = { ...first, httpStatus: 501 };
  for (const outcome of [first, second]) writer.add(outcome);
  await waitFor('both', () => written.length === 2);
  expect([...(await triesOf(first))]).toEqual([
    { number: 1, status: 500 },
    { number: 2, status: 501 },
  ]);
  await writer.stop();
});

it('an outcome with a lost commit response is one attempt, and its queue is looked at again', async () => {
  let commits = 0;
  const { writer, written } = writerOf(() => {
    if (++commits === 1) throw Object.assign(new Error('the connection was closed'), { code: 'CONNECTION_CLOSED' });
  });
  const outcome = await anOutcome();
  writer.add(outcome);
  await waitFor('the outcome', () => written.length === 1);
  expect([...(await triesOf(outcome))]).toEqual([{ number: 1, status: 500 }]);
  const [delivery] = await sql`select tries_made from deliveries where id = ${outcome.deliveryId}`;
  expect(delivery).toEqual({ tries_made: 1 });
  const [queue] =
    await sql`select due_at <= ${platform.clock.now()} as is_due from queues where endpoint_id = ${outcome.endpointId}`;
  expect([commits, queue]).toEqual([2, { is_due: true }]);
  await writer.stop();
});

it('an outcome that the database refuses does not prevent others from being written', async () => {
  const { writer, written } = writerOf();
  const outcomes = await Promise.all(Array.from({ length: 9 }, () => anOutcome()));
  const poison = await anOutcome({ httpStatus: 99_999 });
  for (const outcome of [...outcomes.slice(0, 4), poison, ...outcomes.slice(4)]) writer.add(outcome);
  await waitFor('the others', () => written.length === 9);
  expect(await Promise.all(outcomes.map(async (one) => (await triesOf(one)).length))).toEqual(Array(9).fill(1));
  expect([...(await triesOf(poison))]).toEqual([]);
  expect(writer.waiting).toBe(0);
  await writer.stop();
});

it('outcomes of a locked endpoint wait in order and do not delay others', async () => {
  const { writer, written } = writerOf();
  const locked = await anOutcome();
  const others = [await anOutcome(), await anOutcome()];
  const later = { ...locked, httpStatus: 501 };
  await inTransaction(sql, async (tx) => {
    await tx`select from endpoints where id = ${locked.endpointId} for update`;
    for (const outcome of [locked, ...others]) writer.add(outcome);
    await waitFor('the others', () => written.length === 2);
    writer.add(later);
    expect(await Promise.all(others.map(async (one) => (await triesOf(one)).length))).toEqual([1, 1]);
    expect([...(await triesOf(locked))]).toEqual([]);
  });
  await waitFor('both of the locked one', () => written.length === 4);
  expect([...(await triesOf(locked))]).toEqual([
    { number: 1, status: 500 },
    { number: 2, status: 501 },
  ]);
  const [endpoint] = await sql<{ since: Date }[]>`
    select failing_since as since from endpoints where id = ${locked.endpointId}`;
  expect(endpoint!.since).toEqual(locked.at);
  await writer.stop();
});

it('outcomes that wait for a lock when the writer stops are written once it is free', async () => {
  const { writer, written } = writerOf();
  const [locked, other] = [await anOutcome(), await anOutcome()];
  let stopped: Promise<void> | undefined;
  await inTransaction(sql, async (tx) => {
    await tx`select from endpoints where id = ${locked.endpointId} for update`;
    for (const outcome of [locked, other]) writer.add(outcome);
    await waitFor('the other', () => written.length === 1);
    stopped = writer.stop();
  });
  await stopped;
  expect(written).toEqual([other, locked]);
});

it.each([
  ['a success ends it', 60, ['delivered'], null],
  ['a failure leaves it as it is', 60, ['pending'], 60],
  ['a failure begins it', null, ['pending'], 0],
  ['a failure after a success begins it again', 60, ['pending', 'delivered', 'pending', 'pending'], 0],
  ['a success leaves it ended', null, ['delivered'], null],
] as const)(
  'the row of an endpoint stores the start of failing, whatever the process knew: %s',
  async (_, before, tries, after) => {
    const { writer, written } = writerOf();
    const first = await anOutcome();
    const ago = (seconds: number | null) => (seconds === null ? null : new Date(first.at.getTime() - seconds * 1_000));
    await sql`update endpoints set failing_since = ${ago(before)} where id = ${first.endpointId}`;
    for (const status of tries) {
      writer.add({
        ...first,
        deliveryId: crypto.randomUUID(),
        status,
        nextTryAt: status === 'pending' ? first.at : null,
      });
    }
    await waitFor('all', () => written.length === tries.length);
    const [endpoint] = await sql`select failing_since as since from endpoints where id = ${first.endpointId}`;
    expect(endpoint).toEqual({ since: ago(after) });
    await writer.stop();
  },
);
