import type { Database } from '@customer-platform/service-kit';
import { type Platform, startPlatform, startReceiver, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { emitContactCreated, keepFrom, register } from '../../test/webhooks.ts';

let platform: Platform;
let sql: Database;

beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'webhooks'] });
  sql = platform.database('webhooks');
});
afterAll(() => platform.stop());

/** Creates deliveries that are due in an hour. */
async function insertPending(accountId: string, endpointId: string, count: number): Promise<void> {
  await sql`
    with made as (
      insert into events (account_id, id, sequence, type, envelope, matched, taken_at)
      select ${accountId}, uuidv7(), number, 'contact.created', '{}', 1, now() from generate_series(1, ${count}::int) as number
      returning account_id, id, type
    )
    insert into deliveries (account_id, endpoint_id, event_id, event, url, status, next_try_at, created_at)
    select account_id, ${endpointId}, id, type, 'http://127.0.0.1:1', 'pending', now() + interval '1 hour', now() from made`;
}

/**
 * Slows down every statement that ends deliveries, as on a busy database, during `work`. The table `ended_sets` records
 * each statement's account, count and time.
 */
async function withSlowEnds(seconds: number, work: () => Promise<void>): Promise<void> {
  await sql.unsafe(`
    create table ended_sets (account_id uuid, count int, at timestamptz);
    create function slow_end() returns trigger language plpgsql as $$ begin
      perform pg_sleep(${seconds});
      insert into ended_sets
        select account_id, count(*), clock_timestamp() from changed where status = 'failed' group by account_id;
      return null;
    end $$;
    create trigger slow_end after update on deliveries referencing new table as changed for each statement
      execute function slow_end()`);
  try {
    await work();
  } finally {
    await sql.unsafe('drop trigger slow_end on deliveries; drop function slow_end(); drop table ended_sets');
  }
}

it('all pending deliveries of a deleted endpoint end, however many and however slow the database', async () => {
  const account = await platform.account();
  const { id } = await register(account, 'http://127.0.0.1:1');
  await insertPending(account.id, id, 3_500);
  await withSlowEnds(1.5, async () => {
    await account.client.webhooks.delete({ params: { endpoint_id: id } });
    await waitFor(
      'everything to end',
      async () => {
        const left =
          await sql`select 1 from deliveries where account_id = ${account.id} and status = 'pending' limit 1`;
        return left.length === 0;
      },
      30_000,
    );
  });
  const rows = await sql`select distinct status, reason from deliveries where account_id = ${account.id}`;
  expect([...rows]).toEqual([{ status: 'failed', reason: 'endpoint_deleted' }]);
}, 60_000);

it('ending deliveries of many endpoints of one account does not delay other accounts', async () => {
  const [account, other] = [await platform.account(), await platform.account()];
  const receiver = await startReceiver();
  try {
    const ids: string[] = [];
    for (let n = 0; n < 8; n++) ids.push((await register(account, 'http://127.0.0.1:1')).id);
    for (const id of ids) await insertPending(account.id, id, 5_000);
    await register(other, receiver.url);
    await withSlowEnds(0.4, async () => {
      await Promise.all(ids.map((id) => account.client.webhooks.delete({ params: { endpoint_id: id } })));
      await emitContactCreated(other);
      await waitFor('the event of the other', () => receiver.received.length === 1);
      const [waited] = await waitFor('its attempt to be written', async () => {
        const tries = await sql<{ from: Date; to: Date }[]>`
          select d.created_at as from, t.at as to from tries t join deliveries d on d.account_id = t.account_id and d.id = t.delivery_id
          where t.account_id = ${other.id}`;
        return tries.length === 1 && tries;
      });
      const [meanwhile] = await sql<{ count: number }[]>`
        select coalesce(sum(count), 0)::int as count from ended_sets
        where account_id = ${account.id} and at between ${waited!.from} and ${waited!.to}`;
      // One batch in flight and one per look, not one per endpoint.
      expect(meanwhile!.count).toBeLessThanOrEqual(4_000);
    });
  } finally {
    await receiver.stop();
  }
}, 90_000);

it('an unclaimed queue of a deleted endpoint is deleted, so that an account at its limit cannot pile them up', async () => {
  const account = await platform.account();
  const letTake = await keepFrom(sql, undefined, [account.id]);
  try {
    for (const pending of [0, 2]) {
      const { id } = await register(account, 'http://127.0.0.1:1');
      if (pending > 0) await insertPending(account.id, id, pending);
      await account.client.webhooks.delete({ params: { endpoint_id: id } });
    }
    expect(await sql`select from queues where account_id = ${account.id}`).toHaveLength(0);
    expect(await sql`select from deliveries where account_id = ${account.id} and status = 'pending'`).toHaveLength(0);
  } finally {
    await letTake();
  }
});

it('repeatedly creating and deleting endpoints with many pending deliveries leaves a bounded number of queues', async () => {
  const account = await platform.account();
  const letTake = await keepFrom(sql, undefined, [account.id]);
  const make = () =>
    account.request('POST', '/v1/webhooks', { body: { url: 'http://127.0.0.1:1', events: ['*'], description: '' } });
  try {
    for (let made = 0; made < 40; made++) {
      const { status, body } = await make();
      expect(status).toBe(201);
      await insertPending(account.id, body.id, 1_001);
      await account.client.webhooks.delete({ params: { endpoint_id: body.id } });
    }
    const refused = await make();
    const message = 'Too many deleted endpoints still have pending deliveries; try again shortly';
    expect([refused.status, refused.body.error]).toEqual([503, { code: 'service_unavailable', message }]);
  } finally {
    await letTake();
  }
  await waitFor('pending deliveries to end', async () => (await make()).status === 201, 60_000);
}, 120_000);
