import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { PublishedEvent } from '../bus/bus.ts';
import type { Database } from '../database/database.ts';
import { DueWatch } from '../due-work/due-watch.ts';
import { nothingPaused } from '../queues/pauses.ts';
import { createLogger } from '../telemetry/logging.ts';
import { OutboxRelay } from './outbox-relay.ts';

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

it('an account with very many events does not delay other accounts, whose events go to the bus before it is done', async () => {
  const many = await platform.account();
  const other = await platform.account();
  const envelope = JSON.stringify({ data: {} });
  await sql`
    insert into outbox (account_id, id, kind, audience, envelope)
    select ${many.id}, uuidv7(), 'deal.moved', 'internal', ${envelope} from generate_series(1, 30000)`;
  await other.client.crm.deals.create({ body: { title: 'behind them' } });
  await waitFor('the event of the other account', async () => (await countWaiting(other.id)) === 0);
  expect(await countWaiting(many.id)).toBeGreaterThan(5_000);
  await waitFor('the first events of the many', async () => (await countWaiting(many.id)) < 29_000);
  await sql`delete from outbox where account_id = ${many.id}`;
});

it('an account with few large events does not delay other accounts', async () => {
  const large = await platform.account();
  const other = await platform.account();
  const envelope = JSON.stringify({ data: { filler: 'x'.repeat(100_000) } });
  await sql`
    insert into outbox (account_id, id, kind, audience, envelope)
    select ${large.id}, uuidv7(), 'deal.moved', 'internal', ${envelope} from generate_series(1, 400)`;
  await other.client.crm.deals.create({ body: { title: 'behind them' } });
  await waitFor('the event of the other account', async () => (await countWaiting(other.id)) === 0);
  expect(await countWaiting(large.id)).toBeGreaterThan(100);
  await sql`delete from outbox where account_id = ${large.id}`;
});

type Publish = (event: PublishedEvent & { account_id: string }) => Promise<void>;

/** Runs `test` with a relay that calls `publish`. The service's own relay is paused meanwhile. */
async function relaying(publish: Publish, test: (relay: OutboxRelay) => Promise<void>) {
  await platform.admin('POST', '/admin/queues/crm/outbox/pause', { reason: 'a test carries it' });
  const log = createLogger('test', 'silent');
  const peers = { publishNews: () => undefined, onPeerNews: () => undefined };
  const watch = new DueWatch(sql, { bus: peers, clock: () => new Date(), log, everyMs: 250 });
  const connected = { isConnected: () => true, ready: async () => undefined, server: () => undefined };
  const bus = { ...connected, onReconnect: () => undefined, subjectOf: ({ kind }: { kind: string }) => kind, publish };
  const membership = { paused: () => nothingPaused, failed: () => undefined, close: () => undefined };
  const relay = new OutboxRelay(sql, { bus, log, queues: { open: () => membership }, watch });
  try {
    await test(relay);
  } finally {
    await relay.stop();
    await watch.stop();
    await platform.admin('POST', '/admin/queues/crm/outbox/resume', { reason: 'the test is over' });
  }
}

it('an account whose events fill a round gets a hundred in each later round, so that other accounts do not wait', async () => {
  const [large, other] = [await platform.account(), await platform.account()];
  const published: string[] = [];
  const publish: Publish = async ({ account_id }) => void published.push(account_id);
  await relaying(publish, async (relay) => {
    await sql`
      insert into outbox (account_id, id, kind, audience, envelope)
      select ${large.id}, uuidv7(), 'deal.moved', 'internal', '{}' from generate_series(1, 1000)`;
    await sql`
      insert into outbox (account_id, id, kind, audience, envelope) values (${other.id}, uuidv7(), 'deal.moved', 'internal', '{}')`;
    relay.wake();
    await waitFor('all events', () => published.length === 1_001);
  });
  expect(published.indexOf(other.id)).toBeLessThanOrEqual(600);
});

it('events in transit when the connection broke go before later events', async () => {
  const { id } = await platform.account();
  const carried: string[] = [];
  const put = (kind: string) => sql`
    insert into outbox (account_id, id, kind, audience, envelope) values (${id}, uuidv7(), ${kind}, 'internal', '{}')`;
  let left = 0;
  const publish: Publish = async ({ kind }) => {
    if (left-- <= 0) throw new Error('no acknowledgement: the connection broke');
    carried.push(kind);
  };
  await relaying(publish, async (relay) => {
    for (const kind of ['1', '2', '3', '4']) await put(kind);
    left = 2;
    relay.wake();
    await waitFor('the first events', async () => (await countWaiting(id)) === 2);
    await put('5');
    left = Number.POSITIVE_INFINITY;
    relay.wake();
    await waitFor('all events', async () => (await countWaiting(id)) === 0);
    expect(carried).toEqual(['1', '2', '3', '4', '5']);
  });
});

it('an event that the bus rejects does not stop other events of any account, and is dead after ten attempts', async () => {
  const account = await platform.account();
  const filler = 'x'.repeat(1_048_576);
  await sql`
    insert into outbox (account_id, id, kind, audience, envelope)
    select ${account.id}, gen_random_uuid(), 'deal.updated', 'public', ${filler} from generate_series(1, 30)`;
  await account.client.crm.deals.create({ body: { title: 'after them' } });
  await platform.event(account.id, 'deal.created');
  await sql`delete from outbox where sequence not in (select min(sequence) from outbox)`;
  await waitFor(
    'the event to be dead',
    async () => {
      await sql`update outbox set due_at = now()`;
      const [row] = await deadOf(account.id);
      return row?.dead_at && row.tries === 10 && row.kind === 'deal.updated';
    },
    60_000,
  );
  expect(await sql`select 1 from outbox`).toHaveLength(0);
}, 120_000);
