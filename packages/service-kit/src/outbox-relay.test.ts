import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { EventCarrier } from './bus.ts';
import type { Database } from './database.ts';
import { DueWatch } from './due-work/due-watch.ts';
import { createLogger } from './logging.ts';
import { OutboxRelay } from './outbox-relay.ts';
import { nothingPaused } from './queues/pauses.ts';

let platform: Platform;
let sql: Database;

beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
  sql = platform.database('crm');
});
afterAll(() => platform?.stop());

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

it('what was on its way when the connection broke goes before what follows it', async () => {
  const { id } = await platform.account();
  // The service's own relay leaves them alone.
  await platform.admin('POST', '/admin/queues/crm/outbox/pause', { reason: 'a test carries it' });
  const carried: string[] = [];
  const put = (kind: string) => sql`
    insert into outbox (account_id, id, kind, audience, envelope) values (${id}, uuidv7(), ${kind}, 'internal', '{}')`;
  let left = 2;
  const carrier: EventCarrier = {
    isConnected: () => true,
    ready: async () => undefined,
    subjectOf: ({ kind }) => kind,
    async publish({ kind }) {
      if (left-- <= 0) throw new Error('no acknowledgement: the connection broke');
      carried.push(kind);
    },
  };
  const log = createLogger('test', 'silent');
  const bus = { tell: () => undefined, onPeers: () => undefined };
  for (const kind of ['1', '2', '3', '4']) await put(kind);
  const watch = new DueWatch(sql, { bus, clock: () => new Date(), log, everyMs: 250 });
  const relay = new OutboxRelay(sql, carrier, {
    log,
    seat: { paused: () => nothingPaused, failed: () => undefined },
    watch,
  });
  try {
    await waitFor('the first of them', async () => (await countWaiting(id)) === 2);
    await put('5');
    left = Number.POSITIVE_INFINITY;
    relay.wake();
    await waitFor('all of them', async () => (await countWaiting(id)) === 0);
    expect(carried).toEqual(['1', '2', '3', '4', '5']);
  } finally {
    await relay.stop();
    await watch.stop();
    await platform.admin('POST', '/admin/queues/crm/outbox/resume', { reason: 'the test is over' });
  }
});
