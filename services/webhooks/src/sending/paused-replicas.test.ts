import type { ChildProcess } from 'node:child_process';
import { type Platform, type Receiver, startPlatform, startReceiver, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startSecondProcess } from '../../test/second-process.ts';
import { emitContactCreated, keepFrom, register } from '../../test/webhooks.ts';

/** Number of endpoints with an attempt in flight, each held by one of the two processes. */
const endpoints = 6;
let platform: Platform;
let second: ChildProcess;
let paused: Receiver;
let other: Receiver;

beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'webhooks'] });
  [paused, other] = await Promise.all([startReceiver(), startReceiver()]);
  second = await startSecondProcess(platform);
}, 60_000);
afterAll(async () => {
  second?.kill('SIGKILL');
  await Promise.all([paused?.stop(), other?.stop()]);
  await platform?.stop();
});

/** Returns the processes that hold the queues of an account's endpoints. */
async function workersOf(accountId: string): Promise<string[]> {
  const sql = platform.database('webhooks');
  const owners = await sql<{ owner: string }[]>`
    select distinct owner from queues where account_id = ${accountId} and owner is not null`;
  return owners.map(({ owner }) => owner);
}

it('begins no attempt in any process once a pause is confirmed', async () => {
  const [account, others] = [await platform.account(), await platform.account()];
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  paused.respond = (_request, response) => void released.then(() => response.writeHead(204).end());
  await register(others, other.url);
  const beginTry = async () => {
    const before = paused.received.length;
    await register(account, `${paused.url}/${before}`);
    await emitContactCreated(account);
    await waitFor('an attempt at the endpoint', () => paused.received.length === before + 1);
  };
  await beginTry();
  const [first] = await workersOf(account.id);
  const leaseAgain = await keepFrom(platform.database('webhooks'), first!, [account.id]);
  while (paused.received.length < endpoints) await beginTry();
  await leaseAgain();
  expect(await workersOf(account.id)).toHaveLength(2);

  const change = (verb: string, body: object) =>
    platform.admin('POST', `/admin/queues/webhooks/deliveries/${verb}`, { account: account.id, ...body });
  expect((await change('pause', { reason: 'a test' })).status).toBe(204);
  // Each attempt that ends makes room for the endpoint's next one, in the process that holds it.
  release();
  await emitContactCreated(account);
  for (let index = 0; index < 20; index++) await emitContactCreated(others, `Contact ${index}`);
  await waitFor('what came after it to be delivered to the other', () => other.received.length === 20);
  expect(paused.received).toHaveLength(endpoints);

  expect((await change('resume', {})).status).toBe(204);
  // The first endpoint received every event, the next all but one, and so on. Then all receive the one from the pause.
  await waitFor('the rest', () => paused.received.length === (endpoints * (endpoints + 1)) / 2 + endpoints);
});
