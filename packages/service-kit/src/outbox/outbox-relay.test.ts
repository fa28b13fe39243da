import { randomBytes } from 'node:crypto';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Database } from '../database/database.ts';
import { inTransaction } from '../database/database.ts';
import { DueWatch } from '../due-work/due-watch.ts';
import { nothingPaused } from '../queues/pauses.ts';
import { createLogger } from '../telemetry/logging.ts';
import { lockOutboxOf } from './outbox.sql.ts';
import { type EventCarrier, OutboxRelay } from './outbox-relay.ts';

let platform: Platform;
let sql: Database;

beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
  sql = platform.database('crm');
});
afterAll(() => platform?.stop());

const deadOf = (accountId: string) =>
  sql`select kind, tries, dead_at from failed_events where account_id = ${accountId}`;

const countWaiting = async (accountId: string) => {
  const [row] = await sql<
    { count: number }[]
  >`select count(*)::int as count from outbox where account_id = ${accountId}`;
  return row!.count;
};

it('an account with very many events delays no other: theirs go to the bus before it is through', async () => {
  const many = await platform.account();
  const other = await platform.account();
  const envelope = JSON.stringify({ data: {} });
  await sql`
    insert into outbox (account_id, id, kind, audience, envelope)
    select ${many.id}, uuidv7(), 'deal.moved', 'internal', ${envelope} from generate_series(1, 30000)`;
  await other.client.createDeal({ body: { title: 'behind them' } });
  await waitFor('the event of the other account', async () => (await countWaiting(other.id)) === 0);
  expect(await countWaiting(many.id)).toBeGreaterThan(5_000);
  await waitFor('the first events of the many', async () => (await countWaiting(many.id)) < 29_000);
  await sql`delete from outbox where account_id = ${many.id}`;
});

it('nor does one with few that are large', async () => {
  const large = await platform.account();
  const other = await platform.account();
  const envelope = JSON.stringify({ data: { filler: 'x'.repeat(100_000) } });
  await sql`
    insert into outbox (account_id, id, kind, audience, envelope)
    select ${large.id}, uuidv7(), 'deal.moved', 'internal', ${envelope} from generate_series(1, 400)`;
  await other.client.createDeal({ body: { title: 'behind them' } });
  await waitFor('the event of the other account', async () => (await countWaiting(other.id)) === 0);
  expect(await countWaiting(large.id)).toBeGreaterThan(100);
  await sql`delete from outbox where account_id = ${large.id}`;
});

/** Runs `test` beside a relay of the carrier; the service's own relay leaves the events alone meanwhile. */
async function relaying(carrier: Pick<EventCarrier, 'publish'>, test: (relay: OutboxRelay) => Promise<void>) {
  await platform.admin('POST', '/admin/queues/crm/outbox/pause', { reason: 'a test carries it' });
  const log = createLogger('test', 'silent');
  const bus = { tell: () => undefined, onPeers: () => undefined };
  const watch = new DueWatch(sql, { bus, clock: () => new Date(), log, everyMs: 250 });
  const connected = { isConnected: () => true, ready: async () => undefined, server: () => undefined };
  const available = { ...connected, onBack: () => undefined, mostBytes: () => 1_048_576 };
  const relay = new OutboxRelay(
    sql,
    { ...available, subjectOf: ({ kind }) => kind, ...carrier },
    { log, seat: { paused: () => nothingPaused, failed: () => undefined }, watch },
  );
  try {
    await test(relay);
  } finally {
    await relay.stop();
    await watch.stop();
    await platform.admin('POST', '/admin/queues/crm/outbox/resume', { reason: 'the test is over' });
  }
}

it('an account whose events fill a round has a hundred in each of the next, and nobody waits behind the others', async () => {
  const [large, other] = [await platform.account(), await platform.account()];
  const published: string[] = [];
  const publish: EventCarrier['publish'] = async ({ account_id }) => void published.push(account_id);
  await relaying({ publish }, async (relay) => {
    await sql`
      insert into outbox (account_id, id, kind, audience, envelope)
      select ${large.id}, uuidv7(), 'deal.moved', 'internal', '{}' from generate_series(1, 1000)`;
    await sql`
      insert into outbox (account_id, id, kind, audience, envelope) values (${other.id}, uuidv7(), 'deal.moved', 'internal', '{}')`;
    relay.wake();
    await waitFor('all of them', () => published.length === 1_001);
  });
  expect(published.indexOf(other.id)).toBeLessThanOrEqual(600);
});

it('what was on its way when the connection broke goes before what follows it', async () => {
  const { id } = await platform.account();
  const carried: string[] = [];
  const put = (kind: string) => sql`
    insert into outbox (account_id, id, kind, audience, envelope) values (${id}, uuidv7(), ${kind}, 'internal', '{}')`;
  let left = 0;
  const publish: EventCarrier['publish'] = async ({ kind }) => {
    if (left-- <= 0) throw new Error('no acknowledgement: the connection broke');
    carried.push(kind);
  };
  await relaying({ publish }, async (relay) => {
    for (const kind of ['1', '2', '3', '4']) await put(kind);
    left = 2;
    relay.wake();
    await waitFor('the first of them', async () => (await countWaiting(id)) === 2);
    await put('5');
    left = Number.POSITIVE_INFINITY;
    relay.wake();
    await waitFor('all of them', async () => (await countWaiting(id)) === 0);
    expect(carried).toEqual(['1', '2', '3', '4', '5']);
  });
});

it('events larger than the bus takes are not read, and fill no round of others', async () => {
  const { id } = await platform.account();
  const filler = 'x'.repeat(1_048_576);
  await relaying({ publish: async () => undefined }, async (relay) => {
    const bounds = { rows: 500, ofAccount: 500, bytes: 1_000, each: 1_048_576 };
    const locked = await inTransaction(sql, async (tx) => {
      await tx`
        insert into outbox (account_id, id, kind, audience, envelope)
        select ${id}, uuidv7(), 'too.large', 'internal', ${`"${filler}"`} from generate_series(1, 20)`;
      await tx`insert into outbox (account_id, id, kind, audience, envelope) values (${id}, uuidv7(), 'small', 'internal', '{}')`;
      return await lockOutboxOf(tx, [id], bounds);
    });
    expect(locked.map(({ kind, size, envelope }) => [kind, size, envelope])).toEqual([
      ...Array.from({ length: 20 }, () => ['too.large', 1_048_578, null]),
      ['small', 2, '{}'],
    ]);
    relay.wake();
    await waitFor('the one behind them', async () => (await countWaiting(id)) === 20);
    const reasons = await sql`select distinct reason from outbox where account_id = ${id}`;
    expect(reasons).toEqual([{ reason: expect.stringContaining('1048578 bytes, more than the bus takes') }]);
  });
  await sql`delete from outbox where account_id = ${id}`;
});

it('an event that the bus does not carry lets the others of all accounts go on, and is dead after ten tries', async () => {
  const account = await platform.account();
  const filler = 'x'.repeat(1_048_576);
  await sql`
    insert into outbox (account_id, id, kind, audience, envelope)
    select ${account.id}, gen_random_uuid(), 'deal.updated', 'public', ${filler} from generate_series(1, 30)`;
  await account.client.createDeal({ body: { title: 'after them' } });
  await platform.event(account.id, 'deal.created');
  await sql`delete from outbox where sequence not in (select min(sequence) from outbox)`;
  await waitFor(
    'it is dead',
    async () => {
      await sql`update outbox set due_at = now()`;
      const [row] = await deadOf(account.id);
      return row?.dead_at && row.tries === 10 && row.kind === 'deal.updated';
    },
    60_000,
  );
  expect(await sql`select 1 from outbox`).toHaveLength(0);
}, 120_000);

it('events that die together are buried after the round of the others, a few at a time, with their bytes', async () => {
  const { id } = await platform.account();
  const many = 30;
  // Texts that do not compress: each is read and written whole.
  const filler = randomBytes(600_000).toString('hex');
  await relaying({ publish: async () => undefined }, async (relay) => {
    await inTransaction(sql, async (tx) => {
      await tx`
        insert into outbox (account_id, id, kind, audience, envelope, tries)
        select ${id}, uuidv7(), 'too.large', 'internal', ${filler}, 9 from generate_series(1, ${many}::int)`;
      await tx`insert into outbox (account_id, id, kind, audience, envelope) values (${id}, uuidv7(), 'small', 'internal', '{}')`;
    });
    relay.wake();
    await waitFor('the small one', async () => {
      const small = await sql`select from outbox where account_id = ${id} and kind = 'small'`;
      return small.length === 0;
    });
    expect((await deadOf(id)).length).toBeLessThan(many);
    await waitFor('all the others', async () => (await deadOf(id)).length === many, 60_000);
    const [row] =
      await sql`select octet_length(bytes) as bytes, tries from failed_events where account_id = ${id} limit 1`;
    expect(row).toEqual({ bytes: filler.length, tries: 10 });
    expect(await countWaiting(id)).toBe(0);
  });
}, 120_000);
