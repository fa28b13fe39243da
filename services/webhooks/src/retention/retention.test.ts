import { randomUUIDv7 } from 'node:crypto';
import { Bus, createLogger, type Database, dayMs, uuidAt } from '@customer-platform/service-kit';
import { type Platform, type Receiver, startPlatform, startReceiver, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { deliveriesTo, delivery, emitContactCreated, register } from '../../test/webhooks.ts';
import { webhooksConfig } from '../config.ts';
import { findCursor, findDelivery, selectDeliveries, selectDeliveriesOf } from '../deliveries/deliveries.sql.ts';
import { countMatched, insertReplay, nextOfReplay } from '../deliveries/replays.sql.ts';
import { findEvent, selectEvents } from '../events/events.sql.ts';
import { oldestShown, partitionsOf, retentionOf } from './retention.ts';

let platform: Platform;
let receiver: Receiver;
let sql: Database;

beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'webhooks'], env: { EVENT_RETENTION_DAYS: '3' } });
  receiver = await startReceiver();
  sql = platform.database('webhooks');
});
afterAll(async () => {
  await Promise.all([platform.stop(), receiver.stop()]);
});

it('EVENT_RETENTION_DAYS defaults to 30 days and accepts 1 to 3,650', () => {
  const { EVENT_RETENTION_DAYS: setting } = webhooksConfig.shape;
  const read = (value: string | undefined) => setting.safeParse(value).data;
  expect([undefined, '1', '45', '3650'].map(read)).toEqual([30, 1, 45, 3650]);
  expect(['0', '-1', '1.5', '3651', 'thirty', '30d'].map(read)).toEqual(Array(6).fill(undefined));
});

it('rows are dropped a week after they are last shown, at the end of their partition', () => {
  const tables = partitionsOf(retentionOf(10)).map(({ table, keptMs }) => [table, keptMs / dayMs]);
  expect(tables).toEqual([
    ['events', 17],
    ['deliveries', 17],
    ['tries', 17],
  ]);
});

it('a table has few partitions, however long rows are kept, and at least two weeks ahead', () => {
  for (const days of [1, 30, 60, 61, 365, 3650]) {
    const tables = partitionsOf(retentionOf(days));
    const counts = tables.map((table) => Math.ceil(table.keptMs / dayMs / table.days) + 1 + table.ahead);
    const ahead = tables.map((table) => table.days * table.ahead);
    expect({ days, many: counts.filter((count, index) => count > [17, 17, 90][index]!) }).toEqual({ days, many: [] });
    expect(Math.min(...ahead)).toBeGreaterThanOrEqual(14);
  }
  const [events, deliveries, tries] = partitionsOf(retentionOf(30));
  expect([events!.days, deliveries!.days, tries!.days]).toEqual([7, 7, 1]);
});

describe('data at the end of the retention', () => {
  it('is found and listed until that millisecond and not afterwards', async () => {
    const account = await platform.account();
    const endpoint = await register(account, receiver.url);
    const now = new Date();
    const oldest = oldestShown(now, retentionOf(3));
    const ids: Record<string, { event: string; delivery: string }> = {};
    for (const [name, ms] of [
      ['over', -1],
      ['ends', 0],
      ['shown', 1],
    ] as const) {
      const at = new Date(oldest.getTime() + ms);
      const [row] = await sql<{ event: string; delivery: string }[]>`
        with event as (
          insert into events (account_id, id, type, envelope, matched, taken_at)
          values (${account.id}, ${randomUUIDv7()}, 'deal.won', '{}', 1, ${at}) returning id
        )
        insert into deliveries (account_id, endpoint_id, event_id, event, url, status, reason, created_at)
        select ${account.id}, ${endpoint.id}, id, 'deal.won', '', 'failed', 'exhausted', ${at} from event
        returning event_id as event, id as delivery`;
      ids[name] = row!;
    }
    const key = { accountId: account.id, endpointId: endpoint.id };
    const all = Object.values(ids);
    const [events, deliveries] = [all.map(({ event }) => event), all.map((one) => one.delivery)];
    const found = async (ids: string[], find: (id: string) => Promise<unknown>) => {
      const rows = await Promise.all(ids.map(find));
      return ids.filter((_, index) => rows[index] !== undefined);
    };
    const period = { account_id: account.id, endpoint_id: endpoint.id, since: new Date(0), until: now };
    const replay = await insertReplay(sql, { ...period, includes_delivered: true, matched: 0 }, now);
    const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);
    const filter = { type: undefined, before: undefined, oldest };
    expect({
      event: await found(events, (id) => findEvent(sql, account.id, id, oldest)),
      events: idsOf(await selectEvents(sql, account.id, filter, 10)),
    }).toEqual({ event: [ids.shown!.event], events: [ids.shown!.event] });
    expect({
      delivery: await found(deliveries, (id) => findDelivery(sql, key, id, oldest)),
      cursor: await found(deliveries, (id) => findCursor(sql, key, id, oldest)),
      list: idsOf(await selectDeliveries(sql, key, { oldest }, { after: undefined, limit: 10 })),
      ofEvents: (await selectDeliveriesOf(sql, account.id, { eventIds: events, oldest }, 10)).map(
        (one) => one.delivery,
      ),
      replay: idsOf(await nextOfReplay(sql, replay, oldest, 10)),
      matched: await countMatched(sql, replay, oldest),
    }).toEqual({
      ...Object.fromEntries(
        ['delivery', 'cursor', 'list', 'ofEvents', 'replay'].map((name) => [name, [ids.shown!.delivery]]),
      ),
      matched: 1,
    });
  });

  it('is not visible to customers and neither redelivered nor replayed', async () => {
    const account = await platform.account();
    const endpoint = await register(account, receiver.url);
    await emitContactCreated(account, 'Old');
    const { id } = await delivery(account, endpoint.id);
    const { data } = await account.client.events.list({});
    platform.clock.advance(3 * dayMs - 60_000);
    expect(await deliveriesTo(account, endpoint.id)).toHaveLength(1);
    platform.clock.advance(60_000);
    const path = `/v1/webhooks/${endpoint.id}/deliveries`;
    const status = async (method: string, where: string) => (await account.request(method, where)).status;
    expect([
      await status('GET', `/v1/events/${data[0]!.id}`),
      await status('GET', `${path}/${id}`),
      await status('POST', `${path}/${id}/redeliver`),
      await status('GET', `${path}?starting_after=${id}`),
    ]).toEqual([404, 404, 404, 400]);
    expect(await deliveriesTo(account, endpoint.id)).toEqual([]);
    const body = { since: '2020-01-01T00:00:00Z', status: 'all' as const };
    const replay = await account.client.webhooks.replay({ params: { endpoint_id: endpoint.id }, body });
    expect(replay.matched).toBe(0);
  });
});

it('an event requeued after its retention is rejected with a reason', async () => {
  const account = await platform.account();
  const endpoint = await register(account, receiver.url);
  const { NATS_URL, BUS_PREFIX } = platform.env('webhooks');
  const bus = await Bus.connect(NATS_URL!, {
    prefix: BUS_PREFIX!,
    service: 'cdp',
    log: createLogger('test', 'silent'),
  });
  const publish = async (ageMs: number) => {
    const id = uuidAt(Date.now() - ageMs).slice(0, 14) + randomUUIDv7().slice(14);
    const event = { id, type: 'contact.created', timestamp: '2026-01-01T00:00:00Z', account: account.id, mode: 'live' };
    const envelope = JSON.stringify({ ...event, data: {} });
    await bus.publish({ id, kind: event.type, audience: 'public', sequence: 1, envelope, trace: undefined });
    return id;
  };
  const [old, young] = [await publish(10 * dayMs + 1), await publish(10 * dayMs - 60_000)];
  await bus.close();
  const [reason] = await waitFor('the event to be set aside', async () => {
    const rows = await sql<{ reason: string }[]>`
      select reason from failed_events where account_id = ${account.id} and queue = 'public-events'`;
    return rows.length > 0 && rows.map((row) => row.reason);
  });
  expect(reason).toContain(`event ${old} is older than EVENT_RETENTION_DAYS plus a week`);
  await delivery(account, endpoint.id);
  expect((await deliveriesTo(account, endpoint.id)).map(({ event_id }) => event_id)).toEqual([young]);
});
