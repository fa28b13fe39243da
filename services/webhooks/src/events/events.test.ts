import { Bus, createLogger, type Database } from '@customer-platform/service-kit';
import {
  type Platform,
  pagesOf,
  type Receiver,
  startPlatform,
  startReceiver,
  waitFor,
} from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { deliveriesTo, delivery, emitContactCreated, emitLarge, register } from '../../test/webhooks.ts';
import { countUnaccounted } from './events.sql.ts';

let platform: Platform;
let receiver: Receiver;
let sql: Database;

beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'webhooks'] });
  receiver = await startReceiver();
  sql = platform.database('webhooks');
});
afterAll(async () => {
  await Promise.all([platform.stop(), receiver.stop()]);
});

const eventsOf = async (account: Awaited<ReturnType<Platform['account']>>, count: number) =>
  await waitFor(`${count} events`, async () => {
    const { data } = await account.client.events.list({ query: { limit: 100 } });
    return data.length === count ? data : undefined;
  });

const eventsTaken = (account: Awaited<ReturnType<Platform['account']>>, count: number) =>
  waitFor(`${count} events`, async () => {
    const [row] = await platform.database('webhooks')<{ count: number }[]>`
      select count(*)::int as count from events where account_id = ${account.id}`;
    return row!.count === count;
  });

/** Connects to the bus as the service `cdp`. */
async function busOfCdp(): Promise<Bus> {
  const { NATS_URL: url, BUS_PREFIX: prefix } = platform.env('webhooks');
  return await Bus.connect(url!, { prefix: prefix!, service: 'cdp', log: createLogger('test', 'silent') });
}

describe('events', () => {
  it('are listed newest first as they are sent, page by page and by type', async () => {
    const account = await platform.account();
    const contact = await emitContactCreated(account, 'One');
    await account.client.cdp.contacts.create({ body: { name: 'Two' } });
    const params = { contact_id: contact.id };
    await account.client.cdp.contacts.update({ params, body: { name: 'Won' } });
    const [updated, two, one] = await eventsOf(account, 3);
    expect(updated).toMatchObject({ type: 'contact.updated', data: { previous: { name: 'One' } } });
    expect([two?.data, one?.data]).toMatchObject([{ contact: { name: 'Two' } }, { contact: { name: 'One' } }]);
    const sent = await platform.event(account.id, 'contact.created', (data) => data.contact.name === 'One');
    expect(one).toEqual({ ...sent, sequence: 1 });

    const first = await account.client.events.list({ query: { limit: 2 } });
    expect([first.data.map((event) => event.id), first.has_more]).toEqual([[updated?.id, two?.id], true]);
    const rest = await account.client.events.list({ query: { limit: 2, starting_after: first.next! } });
    expect([rest.data.map((event) => event.id), rest.next]).toEqual([[one?.id], null]);
    const created = await account.client.events.list({ query: { type: 'contact.created' } });
    expect(created.data.map((event) => event.id)).toEqual([two?.id, one?.id]);
    expect(await account.client.events.get({ params: { event_id: one!.id } })).toEqual(one);
  });

  it('that are large shorten pages, and the pages contain them all', async () => {
    const account = await platform.account();
    await emitLarge(account, 30);
    await eventsTaken(account, 30);
    const { data, sizes } = await pagesOf((query) => account.client.events.list({ query }));
    const ids = data.map(({ id }) => id);
    expect([new Set(ids).size, ids]).toEqual([30, ids.toSorted().toReversed()]);
    expect(Math.max(...sizes)).toBeLessThan(2.2 * 1_048_576);
    expect(sizes.length).toBe(2);
  });

  it('of another account are not found, and their ids are not valid cursors', async () => {
    const [owner, other] = [await platform.account(), await platform.account()];
    await emitContactCreated(owner);
    const [event] = await eventsOf(owner, 1);
    expect((await other.request('GET', `/v1/events/${event!.id}`)).status).toBe(404);
    expect((await other.request('GET', '/v1/events/no-id')).status).toBe(404);
    expect((await other.request('GET', '/v1/events')).body.data).toEqual([]);
    const { status, body } = await other.request('GET', `/v1/events?starting_after=${event!.id}`);
    expect([status, body.error.field]).toEqual([400, 'starting_after']);
  });

  it('of a sandbox stay in the sandbox', async () => {
    const account = await platform.account();
    const live = await register(account, receiver.url);
    const test = await account.testClient.webhooks.create({ body: { url: receiver.url } });
    await account.testClient.cdp.contacts.create({ body: { name: 'Test' } });
    const [event] = await waitFor('the event', async () => {
      const { data } = await account.testClient.events.list();
      return data.length > 0 ? data : undefined;
    });
    expect(event).toMatchObject({ mode: 'test', account: account.sandboxId });
    const made = await account.testClient.webhooks.deliveries.list({ params: { endpoint_id: test.id } });
    expect(made.data).toHaveLength(1);
    expect(await deliveriesTo(account, live.id)).toEqual([]);
  });

  it('that are internal are neither stored nor sent', async () => {
    const account = await platform.account();
    const endpoint = await register(account, receiver.url);
    const contact = await emitContactCreated(account);
    await account.client.cdp.contacts.delete({ params: { contact_id: contact.id } });
    // The event for other services contains the contact's name.
    await platform.event(account.id, 'contact.deleted', (data) => 'name' in data.contact);
    await emitContactCreated(account);
    const events = await eventsOf(account, 3);
    expect(events.map((event) => event.type)).toEqual(['contact.created', 'contact.deleted', 'contact.created']);
    expect(events[1]!.data).not.toHaveProperty('contact.name');
    await waitFor('their deliveries', async () => (await deliveriesTo(account, endpoint.id)).length === 3);
  });

  it('go to every endpoint with a matching filter, skipped if it is disabled', async () => {
    const account = await platform.account();
    const filters = [['*'], ['contact.*'], ['contact.created'], ['deal.won', 'contact.created']];
    const taking = await Promise.all(filters.map((events) => register(account, receiver.url, { events })));
    const off = await register(account, receiver.url, { active: false });
    const others = [['contact.updated'], ['deal.*']];
    const notTaking = await Promise.all(others.map((events) => register(account, receiver.url, { events })));
    await emitContactCreated(account);
    for (const { id } of taking) expect((await delivery(account, id)).status).toBe('delivered');
    expect(await delivery(account, off.id)).toMatchObject({
      status: 'skipped',
      reason: 'endpoint_disabled',
      tries: [],
    });
    for (const { id } of notTaking) expect(await deliveriesTo(account, id)).toEqual([]);
    const rows = await sql`select matched from events where account_id = ${account.id}`;
    expect([...rows]).toEqual([{ matched: 5 }]);
  });

  it('that arrive twice over the bus are recorded once', async () => {
    const account = await platform.account();
    const endpoint = await register(account, receiver.url);
    const bus = await busOfCdp();
    await emitContactCreated(account);
    const [event] = await eventsOf(account, 1);
    await delivery(account, endpoint.id);
    // The stream sees another message id, so only the event's own key can detect the repetition.
    const { sequence: _, ...sent } = event!;
    const envelope = JSON.stringify(sent);
    const [common, trace] = [{ audience: 'public', sequence: 1, envelope }, undefined];
    await bus.publish({ ...common, trace, id: crypto.randomUUID(), kind: 'contact.created' });
    await bus.close();
    // Events are taken in order: once the next one is stored, the repetition was handled.
    await emitContactCreated(account);
    const [next, first] = await eventsOf(account, 2);
    expect(first).toEqual(event);
    expect(next!.sequence).toBe(event!.sequence + 1);
    await waitFor('both deliveries', async () => (await deliveriesTo(account, endpoint.id)).length === 2);
  });

  it('list only public kinds, with the schema of their envelope', async () => {
    const account = await platform.account();
    const { data } = await account.client.events.kinds.list();
    const kinds = data.map((one) => one.kind);
    expect(kinds).toEqual(expect.arrayContaining(['appointment.booked', 'contact.merged', 'webhook.test']));
    expect(kinds).not.toContain('reminder.due');
    expect(kinds).toEqual([...kinds].sort());
    const schema = data.find((one) => one.kind === 'webhook.disabled')!.schema;
    expect(schema).toMatchObject({
      type: 'object',
      properties: { type: { const: 'webhook.disabled' }, data: { type: 'object', required: ['webhook'] } },
    });
  });
});

describe('an unknown kind', () => {
  it('is refused as a filter of events and deliveries', async () => {
    const account = await platform.account();
    const { id } = await register(account, receiver.url);
    for (const [path, field] of [
      ['/v1/events?type=order.lost', 'type'],
      [`/v1/webhooks/${id}/deliveries?event=order.*`, 'event'],
    ]) {
      const { status, body } = await account.request('GET', path!);
      expect([status, body.error.field, body.error.message]).toEqual([
        400,
        field,
        expect.stringContaining(`${field} must be an event kind`),
      ]);
    }
    // A kind of a module that is not built yet is valid too.
    expect((await account.request('GET', '/v1/events?type=order.declined')).status).toBe(200);
  });
});

describe('events × matching endpoints', () => {
  it('are the sum of all states, and a missing delivery is noticed', async () => {
    const account = await platform.account();
    await Promise.all([1, 2, 3].map(() => register(account, receiver.url)));
    // The balance counts events of all accounts: on this day there are only these.
    platform.clock.advance(86_400_000);
    const from = new Date(platform.clock.now().getTime() - 1000);
    await Promise.all(Array.from({ length: 10 }, () => emitContactCreated(account)));
    await eventsOf(account, 10);
    const until = new Date(platform.clock.now().getTime() + 1000);
    const balance = () => countUnaccounted(sql, from, until);
    await waitFor('all to be delivered', async () => (await balance()).byStatus.delivered === 30);
    expect(await balance()).toEqual({ unaccounted: 0, byStatus: { delivered: 30 } });
    await sql`delete from deliveries where (account_id, id) in (
      select account_id, id from deliveries where account_id = ${account.id} limit 1)`;
    expect((await balance()).unaccounted).toBe(1);
  });
});
