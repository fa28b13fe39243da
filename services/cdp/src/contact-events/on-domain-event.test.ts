import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { ownerOf } from '@customer-platform/contracts/core';
import { type Bus, inTransaction } from '@customer-platform/service-kit';
import { busOf, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { addAudience, keepChanged, takeChanged } from '../../test/cdp.ts';
import { lockIdentities } from '../contacts/identities.sql.ts';

const buses = new Map<string, Bus>();
const platform = await startPlatform({ services: ['cdp'] });
const sql = platform.database('cdp');
await keepChanged(sql);
for (const service of ['agents', 'calendar', 'catalogue', 'cdp', 'crm', 'messaging'])
  buses.set(service, await busOf(platform, service));
afterAll(async () => {
  for (const bus of buses.values()) await bus.close();
  await platform.stop();
});

let account: TestAccount;
let contact: { id: string; number: number };
beforeEach(async () => {
  account = await platform.account();
  contact = await account.client.cdp.contacts.create({ body: { name: 'Ada' } });
  await known(1); // contact.created
});

const at = '2026-11-01T10:00:00+01:00';

/** Publishes an event like the service that owns its type; returns its id. */
async function publish(kind: string, data: unknown, id = randomUUIDv7(), audience = 'public'): Promise<string> {
  return await publishAs(account, kind, data, { id, audience });
}

async function publishAs(
  { id: of }: TestAccount,
  kind: string,
  data: unknown,
  { id = randomUUIDv7(), audience = 'public' } = {},
) {
  const envelope = JSON.stringify({ id, type: kind, timestamp: at, account: of, mode: 'live', data });
  await buses
    .get(ownerOf(kind) ?? 'calendar')!
    .publish({ id, kind, audience, sequence: 1, envelope, trace: undefined });
  return id;
}

/** Returns the events of an account's contacts once there are `count`, in the order of their names. */
async function known(count: number, { id } = account) {
  return await waitFor(`${count} events`, async () => {
    const rows = await sql`select * from contact_events where account_id = ${id} order by name, at`;
    return rows.length >= count ? rows : undefined;
  });
}

describe("the platform's own events", () => {
  it('become events of their contact, named by type', async () => {
    const deal = { id: randomUUID(), contact: { id: contact.id, name: 'Ada', phone: '' } };
    const wonId = await publish('deal.won', { deal });
    await publish('message.received', { message: { id: 'm-1' }, contact: { id: contact.id } });
    const [created, won, received] = await known(3);
    expect(created).toMatchObject({ name: 'contact.created', contact_id: contact.id, properties: {} });
    expect(won).toMatchObject({ id: wonId, at: new Date(at), contact_id: contact.id, properties: { deal: deal.id } });
    expect(received).toMatchObject({ name: 'message.received', properties: { message: 'm-1' } });
  });

  it('are assigned by contact number if they show only that', async () => {
    await publish('plan.completed', { plan: { id: 3, contact: { id: contact.number } } });
    expect((await known(2))[1]).toMatchObject({ contact_id: contact.id, properties: { plan: 3 } });
  });

  it('are skipped if they are internal or have no known contact', async () => {
    await publish('deal.won', { deal: { id: 'd', contact: null }, previous: { contact: { id: contact.id } } });
    await publish('audience.ready', { audience: { id: 'a' } });
    await publish('order.declined', { order: { id: 'o', contact: { id: randomUUID() } } });
    await publish('order.created', { order: { id: 'o', contact: { id: 'none' } } });
    await publish(
      'reminder.due',
      { appointment: { id: 'x', contact: { id: contact.id } } },
      randomUUIDv7(),
      'internal',
    );
    await publish('order.fulfilled', { order: { id: 'o', contact: { id: contact.id } } });
    expect((await known(2)).map(({ name }) => name)).toEqual(['contact.created', 'order.fulfilled']);
  });

  it('count once, however often they arrive, and queue the contact for audiences that ask about them', async () => {
    await addAudience(sql, account.id, { eventNames: ['order.declined'] });
    const data = { order: { id: 'o', contact: { id: contact.id } } };
    const id = await publish('order.declined', data);
    await known(2);
    await sql`delete from inbox where event_id = ${id}`;
    await buses.get('catalogue')!.publish({
      id: randomUUID(),
      kind: 'order.declined',
      audience: 'public',
      sequence: 2,
      trace: undefined,
      envelope: JSON.stringify({ id, type: 'order.declined', timestamp: at, account: account.id, mode: 'live', data }),
    });
    await publish('order.fulfilled', data);
    expect((await known(3)).map(({ name }) => name)).toEqual(['contact.created', 'order.declined', 'order.fulfilled']);
    expect(await takeChanged(sql, account.id)).toEqual([contact.id]);
  });

  it('wait for a merge in their own account only', async () => {
    const other = await platform.account();
    const neighbour = await other.client.cdp.contacts.create({ body: { name: 'Grace' } });
    await known(1, other);
    await inTransaction(sql, async (tx) => {
      await lockIdentities(tx, account.id);
      await publish('order.declined', { order: { id: 'o', contact: { id: contact.id } } });
      await publishAs(other, 'order.declined', { order: { id: 'o', contact: { id: neighbour.id } } });
      await known(2, other);
      const [waiting] = await sql`select reason from failed_events where account_id = ${account.id}`;
      // Not canceled after seconds.
      expect(waiting!.reason).toContain('another transaction holds the lock');
    });
    platform.clock.advance(60_000);
    expect(await known(2)).toMatchObject([{ name: 'contact.created' }, { name: 'order.declined' }]);
    expect(await sql`select from failed_events where account_id = ${account.id}`).toHaveLength(0);
  });
});
