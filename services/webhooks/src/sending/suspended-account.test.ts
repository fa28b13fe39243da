import {
  type Platform,
  type Receiver,
  startPlatform,
  startReceiver,
  type TestAccount,
  waitFor,
} from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { delivery, emitContactCreated, register } from '../../test/webhooks.ts';

let platform: Platform;
let receiver: Receiver;
let witness: Receiver;

beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'webhooks'] });
  [receiver, witness] = [await startReceiver(), await startReceiver()];
});
afterAll(async () => {
  await Promise.all([platform.stop(), receiver.stop(), witness.stop()]);
});

/** Resolves once the dispatcher has completed two looks: it has twice sent a delivery that became due after the call. */
async function look(other: TestAccount, endpointId: string): Promise<void> {
  for (let round = 0; round < 2; round++) {
    const before = witness.received.length;
    await other.client.webhooks.test({ params: { endpoint_id: endpointId } });
    await waitFor('the witness', () => witness.received.length > before);
  }
}

it('deliveries of a suspended account neither go out nor fail, and are sent once it is active again', async () => {
  const sql = platform.database('webhooks');
  const [account, other] = [await platform.account(), await platform.account()];
  const endpoint = await register(account, receiver.url, { events: ['contact.created'] });
  const { id: witnessId } = await register(other, witness.url, { events: ['webhook.test'] });
  receiver.respond = (_, response) => response.writeHead(500).end();
  await emitContactCreated(account);
  await delivery(account, endpoint.id, (one) => one.tries.length === 1);
  receiver.respond = (_, response) => response.writeHead(204).end();
  const setStatus = (status: string) => platform.admin('PATCH', `/admin/accounts/${account.id}`, { status });
  expect((await setStatus('suspended')).status).toBe(200);

  /** Adds another due delivery, as if its event preceded the suspension. */
  const addDue = async () => {
    await sql`
      with copy as (
        insert into events (account_id, id, type, envelope, matched, taken_at)
        select account_id, uuidv7(), type, envelope, 1, now() from events where account_id = ${account.id} limit 1
        returning account_id, id, type
      ), made as (
        insert into deliveries (account_id, endpoint_id, event_id, event, url, status, next_try_at, created_at)
        select account_id, ${endpoint.id}, id, type, '', 'pending', now(), now() from copy
      )
      update queues set due_at = now(), version = version + 1 where endpoint_id = ${endpoint.id}`;
  };
  await waitFor('nothing to be sent any more', async () => {
    const before = receiver.received.length;
    await addDue();
    await look(other, witnessId);
    return receiver.received.length === before;
  });
  const sent = receiver.received.length;
  // The retry of the failed delivery is now due too.
  platform.clock.advance(6000);
  await addDue();
  await look(other, witnessId);
  expect(receiver.received).toHaveLength(sent);
  const states = () => sql<{ status: string; count: number }[]>`
    select status, count(*)::int as count from deliveries
    where account_id = ${account.id} and tries_made < 2 group by status order by status`;
  const pending = (await states()).find((row) => row.status === 'pending')!.count;
  expect(pending).toBeGreaterThanOrEqual(3);
  expect((await states()).map((row) => row.status)).not.toContain('failed');

  expect((await setStatus('active')).status).toBe(200);
  await waitFor('all to be sent', () => receiver.received.length === sent + pending);
  const tries = () => sql`select from tries where account_id = ${account.id} and status is distinct from 204`;
  await waitFor('all to be delivered', async () => (await states()).every((row) => row.status === 'delivered'));
  expect(await tries()).toHaveLength(1);
});
