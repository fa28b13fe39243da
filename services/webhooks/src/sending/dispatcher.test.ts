import { isDeepStrictEqual } from 'node:util';
import { type Database, inTransaction, startService } from '@customer-platform/service-kit';
import { type Platform, type Receiver, startPlatform, startReceiver, waitFor } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { startSecondProcess } from '../../test/second-process.ts';
import { delivery, earnCap, emitContactCreated, emitLarge, keepFrom, register } from '../../test/webhooks.ts';
import { countUnaccounted } from '../events/events.sql.ts';
import { retentionOf } from '../retention/retention.ts';
import { webhooks } from '../start.ts';
import { deleteQueue } from './dispatch.sql.ts';
import { readQueues } from './read-queues.sql.ts';

let platform: Platform;
let sql: Database;
const receivers: Receiver[] = [];

beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'webhooks'], env: { WEBHOOKS_RETRY_SCHEDULE: '0,1h,2h' } });
  sql = platform.database('webhooks');
});
afterEach(async () => {
  await Promise.all(receivers.splice(0).map((receiver) => receiver.stop()));
});
afterAll(async () => {
  await platform.stop();
});

async function receiverThat(respond?: Receiver['respond']): Promise<Receiver> {
  const receiver = await startReceiver();
  receivers.push(receiver);
  if (respond) receiver.respond = respond;
  return receiver;
}

const emitMany = (account: Parameters<typeof emitContactCreated>[0], count: number) =>
  Promise.all(Array.from({ length: count }, (_, i) => emitContactCreated(account, `Contact ${i}`)));

const states = async (accountId: string) => {
  const rows = await sql<{ status: string; count: number }[]>`
    select status, count(*)::int as count from deliveries where account_id = ${accountId} group by status order by status`;
  return Object.fromEntries(rows.map((row) => [row.status, row.count]));
};

describe('the dispatcher', () => {
  it('reads large events a few at a time, and delivers all of them', async () => {
    const account = await platform.account();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const receiver = await receiverThat((_, response) => void released.then(() => response.writeHead(204).end()));
    const endpoint = await register(account, receiver.url);
    await emitLarge(account, 21);
    const key = { accountId: account.id, endpointId: endpoint.id };
    await waitFor('all of them', async () => (await states(account.id)).pending === 21, 30_000);
    const [state] = await readQueues(sql, [{ ...key, limit: 40, now: platform.clock.now() }], {
      busyIds: [],
      eventsKeptMs: retentionOf(30).keptMs,
    });
    expect([state!.due.length < 12, state!.found]).toEqual([true, 21]);
    release();
    await waitFor('all at the endpoint', () => receiver.received.length === 21);
  });

  it('has at most ten attempts in flight per endpoint', async () => {
    const account = await platform.account();
    let [underWay, most] = [0, 0];
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const receiver = await receiverThat();
    const { id } = await register(account, receiver.url);
    await earnCap(account, id);
    receiver.respond = (_, response) => {
      most = Math.max(most, ++underWay);
      void released.then(() => {
        underWay--;
        response.writeHead(204).end();
      });
    };
    await emitMany(account, 96);
    await waitFor('ten to be in flight', () => underWay === 10);
    release();
    await waitFor('all to be delivered', async () => (await states(account.id)).delivered === 100);
    expect(most).toBe(10);
  });

  it('sends nothing twice when two processes share the work', async () => {
    const second = await startService(webhooks, platform.env('webhooks'), { clock: platform.clock.now });
    const account = await platform.account();
    const receiver = await receiverThat();
    const endpoints = await Promise.all(Array.from({ length: 5 }, () => register(account, receiver.url)));
    await emitMany(account, 60);
    await waitFor('all to be delivered', async () => (await states(account.id)).delivered === 300);
    await second.stop();
    expect(receiver.received).toHaveLength(300);
    const perEndpoint = await sql<{ count: number }[]>`
      select count(distinct event_id)::int as count from deliveries where account_id = ${account.id} group by endpoint_id`;
    expect(perEndpoint.map((row) => row.count)).toEqual(endpoints.map(() => 60));
  });

  it('continues the work of a dead process once its lease expires', async () => {
    const account = await platform.account();
    const receiver = await receiverThat();
    const endpoint = await register(account, receiver.url);
    const dead = crypto.randomUUID();
    const [lease] = await sql<{ leased_until: Date }[]>`
      insert into queues (account_id, endpoint_id, due_at, owner, leased_until)
      values (${account.id}, ${endpoint.id}, 'infinity', ${dead}, now() + interval '3 s') returning leased_until`;
    await emitContactCreated(account);
    const request = await receiver.next();
    expect(request.at).toBeGreaterThanOrEqual(lease!.leased_until.getTime());
    expect((await delivery(account, endpoint.id)).tries).toHaveLength(1);
    expect(receiver.received).toHaveLength(1);
  });

  it('renews the lease of a queue that it took while it released all others', async () => {
    const [idle, busy] = [await platform.account(), await platform.account()];
    const receiver = await receiverThat((_, response) => void response.writeHead(204).end());
    const hanging = await receiverThat(() => undefined);
    const first = await register(idle, receiver.url);
    const second = await register(busy, hanging.url);
    const queueOf = async (id: string) =>
      (
        await sql<{ owner: string | null; until: Date | null }[]>`
        select owner, leased_until as until from queues where endpoint_id = ${id}`
      )[0];
    await sql`create function hold_take() returns trigger language plpgsql as
      'begin perform pg_advisory_xact_lock(20261126); return new; end'`;
    await sql.unsafe(`
      create trigger hold_take before update of owner on queues for each row
      when (old.owner is null and new.owner is not null and new.account_id = '${busy.id}') execute function hold_take()`);
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const locked = Promise.withResolvers<void>();
    const holding = inTransaction(sql, async (tx) => {
      await tx`select pg_advisory_xact_lock(20261126)`;
      locked.resolve();
      await released;
    });
    try {
      await locked.promise;
      await emitContactCreated(idle);
      await waitFor('the first to be held', async () => (await queueOf(first.id))?.owner);
      await emitContactCreated(busy);
      await waitFor('the second to be taken', async () => {
        const rows = await sql`
          select from pg_locks join pg_database d on d.oid = database
          where locktype = 'advisory' and objid = 20261126 and not granted and d.datname = current_database()`;
        return rows.length > 0;
      });
      await waitFor('the first to be released', async () => (await queueOf(first.id))?.owner === null);
    } finally {
      release();
      await holding;
      await sql`drop function hold_take cascade`;
    }
    await waitFor('the second to be attempted', () => hanging.received.length > 0);
    const before = (await queueOf(second.id))!.until!;
    await waitFor('its lease to be renewed', async () => (await queueOf(second.id))!.until! > before);
    // A lease that expired and was taken again would end at least ten seconds later.
    expect((await queueOf(second.id))!.until!.getTime() - before.getTime()).toBeLessThan(10_000);
  });

  it('loses nothing when a process is killed during its attempts', async () => {
    const accounts = await Promise.all(Array.from({ length: 12 }, () => platform.account()));
    const { promise: killed, resolve: goOn } = Promise.withResolvers<void>();
    const receiver = await receiverThat((_, response) => void killed.then(() => response.writeHead(204).end()));
    for (const account of accounts) await register(account, receiver.url);
    const ids = accounts.map((account) => account.id);
    await emitContactCreated(accounts[0]!);
    const first = await waitFor('the first process to have a queue', async () => {
      const [row] = await sql<{ owner: string | null }[]>`select owner from queues where account_id = ${ids[0]!}`;
      return row?.owner;
    });
    const leaseAgain = await keepFrom(sql, first, ids.slice(6));
    const second = await startSecondProcess(platform);
    for (const account of accounts.slice(1)) await emitContactCreated(account);
    const events = accounts.length;
    try {
      await waitFor('both processes to have queues', async () => {
        const rows =
          await sql`select distinct owner from queues where account_id = any(${ids}::uuid[]) and owner is not null`;
        return rows.length === 2;
      });
      // A leased queue may not have begun yet. No request gets a response, so one request per endpoint means one in flight in its owner.
      await waitFor('a request to every endpoint', async () => {
        const received = receiver.received.map((request) => String(request.headers['webhook-id']));
        const [row] = await sql<{ endpoints: number }[]>`
          select count(distinct endpoint_id)::int as endpoints from deliveries
          where account_id = any(${ids}::uuid[]) and event_id = any(${received}::uuid[])`;
        return row!.endpoints === accounts.length;
      });
    } finally {
      second.kill('SIGKILL');
      goOn();
      await leaseAgain();
    }
    const allStates = () => sql<{ status: string; count: number }[]>`
      select status, count(*)::int as count from deliveries where account_id = any(${ids}::uuid[]) group by status`;
    const allDelivered = { status: 'delivered', count: events };
    await waitFor(
      'all to be delivered',
      async () => isDeepStrictEqual([...(await allStates())], [allDelivered]),
      60_000,
    );
    expect(new Set(receiver.received.map((request) => request.headers['webhook-id'])).size).toBe(events);
    expect(receiver.received.length).toBeGreaterThan(events);
  }, 180_000);

  it('releases its leases when its process stops, so that another continues at once', async () => {
    const owners = async () => {
      const rows = await sql<{ owner: string }[]>`select distinct owner from queues where owner is not null`;
      return rows.map((row) => row.owner);
    };
    const before = await owners();
    const second = await startService(webhooks, platform.env('webhooks'), { clock: platform.clock.now });
    const account = await platform.account();
    const receiver = await receiverThat();
    const endpoint = await register(account, receiver.url);
    await emitContactCreated(account);
    await delivery(account, endpoint.id);
    await second.stop();
    expect((await owners()).filter((owner) => !before.includes(owner))).toEqual([]);
    await emitContactCreated(account);
    await waitFor('the next event', () => receiver.received.length === 2);
  });

  it('loses no delivery among endpoints that fail now and then', async () => {
    const account = await platform.account();
    let requests = 0;
    const flaky = await receiverThat((_, response) => {
      requests++;
      if (requests % 3 === 0) response.destroy();
      else response.writeHead(requests % 3 === 1 ? 503 : 200).end();
    });
    const from = platform.clock.now();
    await Promise.all([1, 2, 3].map(() => register(account, flaky.url)));
    await emitMany(account, 30);
    await waitFor('every first attempt', async () => {
      const [row] = await sql`select count(*)::int as count from tries where account_id = ${account.id}`;
      return row!.count >= 90;
    });
    const some = await states(account.id);
    expect([some.pending! > 0, some.delivered! > 0, some.pending! + some.delivered!]).toEqual([true, true, 90]);
    flaky.respond = (_, response) => response.writeHead(200).end();
    platform.clock.advance(4_000_000);
    await waitFor('all to be delivered', async () => (await states(account.id)).delivered === 90);
    const balance = await countUnaccounted(sql, from, platform.clock.now());
    expect(balance).toMatchObject({ unaccounted: 0 });
  });

  it('ends all pending deliveries of a deleted endpoint, however many', async () => {
    const account = await platform.account();
    const receiver = await receiverThat((_, response) => response.writeHead(500).end());
    const endpoint = await register(account, receiver.url);
    await emitContactCreated(account);
    await delivery(account, endpoint.id, (one) => one.tries.length === 1);
    await sql`
      with copies as (
        insert into events (account_id, id, type, envelope, matched, taken_at)
        select account_id, uuidv7(), type, envelope, 1, taken_at from events, generate_series(1, 2500)
        where account_id = ${account.id} returning account_id, id, type
      )
      insert into deliveries (account_id, endpoint_id, event_id, event, url, status, next_try_at, created_at)
      select account_id, ${endpoint.id}, id, type, '', 'pending', now() + interval '100 days', now() from copies`;
    await account.client.webhooks.delete({ params: { endpoint_id: endpoint.id } });
    await waitFor('all to end', async () => (await states(account.id)).failed === 2501);
    expect(await states(account.id)).toEqual({ failed: 2501 });
  });

  it('deletes the queue of a deleted endpoint even if released meanwhile, but not one that another process holds', async () => {
    const { id: accountId } = await platform.account();
    const [mine, others, changed] = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()];
    const [owner, other] = [crypto.randomUUID(), crypto.randomUUID()];
    await sql`
      insert into queues (account_id, endpoint_id, due_at, version, owner, leased_until) values
        (${accountId}, ${mine}, 'infinity', 3, null, null), (${accountId}, ${changed}, 'infinity', 4, null, null),
        (${accountId}, ${others}, 'infinity', 3, ${other}, now() + interval '1 hour')`;
    for (const endpointId of [mine, others, changed]) {
      await deleteQueue(sql, owner, { accountId, endpointId, version: 3, endpointVersion: 0 });
    }
    const left = await sql<{ endpoint_id: string }[]>`select endpoint_id from queues where account_id = ${accountId}`;
    expect(left.map((row) => row.endpoint_id).toSorted()).toEqual([others, changed].toSorted());
  });
});
