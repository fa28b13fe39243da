import { newSigningSecret } from '@customer-platform/outbound';
import { allAccounts, batchOf, type Database, inTransaction, RowFinder } from '@customer-platform/service-kit';
import { type Platform, rawRequest, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type HttpProvider,
  message,
  openShop,
  type Sent,
  type Shop,
  startHttpProvider,
  withStatus,
} from '../../test/messaging.ts';
import { graphRequest, signedGraphRequest, twilioSettings, whatsappSettings } from '../../test/provider-servers.ts';
import { dueReceipts, insertInbound, takeArrivedReceipts } from './receipts.sql.ts';

let platform: Platform;
let sql: Database;
let provider: HttpProvider;
let shop: Shop;
beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'messaging'] });
  sql = platform.database('messaging');
}, 60_000);
afterAll(() => platform.stop());
beforeEach(async () => {
  provider = await startHttpProvider();
  shop = await openShop(platform, { sms: provider });
});
afterEach(() => provider.stop());

const to = '+4930901820';
const now = () => platform.clock.now().toISOString();
const inbound = (id: string, from = to) => ({ type: 'inbound', id, from, name: 'Ada', body: 'Hello?', at: now() });
const received = () => platform.events(shop.account.id).filter(({ type }) => type === 'message.received');
const contacts = async () => (await shop.account.client.cdp.contacts.list({})).data;

describe('an inbound message', () => {
  it('creates a contact for a new sender and is announced once, however often it arrives', async () => {
    for (let round = 0; round < 3; round++) expect((await shop.hook('sms', inbound('i-1'))).status).toBe(200);
    const { data } = await platform.event(shop.account.id, 'message.received');
    const [contact] = await contacts();
    expect(contact).toMatchObject({ name: 'Ada', phone: to });
    expect(data).toEqual({
      message: {
        id: data.message.id,
        channel: 'sms',
        from: to,
        type: 'text',
        body: 'Hello?',
        media: null,
        reaction_to: null,
        at: data.message.at,
      },
      contact: { id: contact!.id, name: 'Ada', phone: to },
    });
    await shop.hook('sms', inbound('i-2'));
    await waitFor('the second', () => received().length === 2);
    expect(await contacts()).toHaveLength(1);
  });

  it('belongs to the contact with the number', async () => {
    const known = await shop.account.client.cdp.contacts.create({ body: { name: 'Grace', phone: to } });
    await shop.hook('sms', inbound('i-1'));
    const { data } = await platform.event(shop.account.id, 'message.received');
    expect(data.contact).toEqual({ id: known.id, name: 'Grace', phone: to });
  });

  it('from a sender without an address creates no contact and does not delay others', async () => {
    for (const [index, sender] of ['INFO', '12345', '+0123456789', 'a@b', 'nobody@'].entries())
      await shop.hook('sms', inbound(`i-${index}`, sender));
    await shop.hook('sms', inbound('i-9', '030 901-820'));
    await platform.event(shop.account.id, 'message.received');
    await waitFor('both to be announced', async () => {
      const rows = await sql`select from inbound_messages where account_id = ${shop.account.id} and due_at is not null`;
      return rows.length === 0;
    });
    expect([received().length, (await contacts()).length]).toEqual([1, 1]);
  });
});

describe('a receipt', () => {
  const kept = () => sql`select due_at from arrived_receipts where account_id = ${shop.account.id}`;

  it('that arrives before the response of the provider is applied after it', async () => {
    const held = Promise.withResolvers<undefined>();
    provider.respond = async (request, response) => {
      await held.promise;
      response.end(JSON.stringify({ id: `p-${(JSON.parse(request.body) as Sent).attempt}` }));
    };
    const channels = [{ channel: 'sms' as const, body: 'x' }];
    const { id } = await shop.account.client.messages.send({ body: { to, channels } });
    const { attempt } = JSON.parse((await provider.next()).body) as Sent;
    await shop.hook('sms', { type: 'receipt', id: `p-${attempt}`, status: 'delivered', at: now() });
    held.resolve(undefined);
    const { attempts } = await message(shop.account, id, withStatus('delivered'));
    expect(attempts[0]!.receipts).toMatchObject([{ status: 'delivered', applied: true }]);
    expect(await sql`select from arrived_receipts where account_id = ${shop.account.id}`).toHaveLength(0);
  });

  it('that is being applied delays the result of its message, which holds no lock of the message meanwhile', async () => {
    const held = Promise.withResolvers<undefined>();
    provider.respond = async (_request, response) => {
      await held.promise;
      response.end(JSON.stringify({ id: 'p-1' }));
    };
    const { id } = await shop.account.client.messages.send({ body: { to, channels: [{ channel: 'sms', body: 'x' }] } });
    await provider.next();
    await shop.hook('sms', { type: 'receipt', id: 'p-1', status: 'delivered', at: now() });
    await waitFor('it to be looked at', async () => (await kept())[0]!.due_at > platform.clock.now());
    await inTransaction(sql, async (tx) => {
      await tx`select from arrived_receipts where account_id = ${shop.account.id} for update`;
      held.resolve(undefined);
      await waitFor('its result to wait', async () => {
        const waiting = await sql`
          select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%arrived_receipts%'`;
        return waiting.length > 0;
      });
      await tx`select from messages where account_id = ${shop.account.id} and id = ${id} for update nowait`;
    });
    await message(shop.account, id, withStatus('delivered'));
  });

  it('of an unknown message is kept for a day, then dropped', async () => {
    await shop.hook('sms', { type: 'receipt', id: 'nobody', status: 'read', at: now() });
    await waitFor('it to be looked at', async () => (await kept())[0]!.due_at > platform.clock.now());
    platform.clock.advance(25 * 3_600_000);
    await waitFor('it to be dropped', async () => (await kept()).length === 0);
  });
});

it('inbound messages are accepted while fewer than 5,000 of the account wait to be announced', async () => {
  const { id } = shop.account;
  const later = new Date(platform.clock.now().getTime() + 3_600_000);
  await sql`
    insert into inbound_messages (account_id, channel, provider_id, sender, sender_name, body, at, arrived_at, due_at)
    select ${id}, 'sms', 'waits ' || n, '+4930901820', '', 'Hello', ${later}, ${later}, ${later} from generate_series(1, 5000) as n`;
  expect((await shop.hook('sms', inbound('one more'))).status).toBe(503);
  await sql`delete from inbound_messages where account_id = ${id} and provider_id = 'waits 1'`;
  expect((await shop.hook('sms', inbound('one more'))).status).toBe(200);
  await sql`delete from inbound_messages where account_id = ${id} and provider_id like 'waits %'`;
});

it('hook calls of one account that wait for each other leave connections to other accounts', async () => {
  const neighbour = await platform.account();
  const { promise: over, resolve: end } = Promise.withResolvers<undefined>();
  const locked = Promise.withResolvers<undefined>();
  // The lock that each call takes at its end.
  const held = inTransaction(sql, async (tx) => {
    await tx`select pg_advisory_xact_lock(hashtextextended(${`receipts ${shop.account.id}`}, 0))`;
    locked.resolve(undefined);
    await over;
  });
  await locked.promise;
  let settled = 0;
  const calls = Array.from({ length: 30 }, async (_none, n) => {
    await shop.hook('sms', { type: 'receipt', id: `waits-${n}`, status: 'read', at: now() });
    settled++;
  });
  const waiting = () => sql<{ count: number }[]>`
    select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event = 'advisory'`;
  await waitFor('calls that wait', async () => (await waiting())[0]!.count >= 10);
  expect(await neighbour.client.messages.list({})).toMatchObject({ data: [] });
  expect(settled).toBe(0);
  end(undefined);
  await Promise.all([held, ...calls]);
  await sql`delete from arrived_receipts where account_id = ${shop.account.id}`;
});

it('concurrent calls with the same messages in opposite orders do not deadlock', async () => {
  const ids = Array.from({ length: 300 }, (_none, n) => `both-${n}`);
  const insert = (given: string[]) =>
    inTransaction(sql, (tx) =>
      insertInbound(
        tx,
        { account_id: shop.account.id, channel: 'sms' },
        given.map((id) => ({
          type: 'text' as const,
          media: null,
          reactionTo: null,
          providerId: id,
          sender: to,
          from: to,
          name: 'Ada',
          body: 'x',
          at: platform.clock.now(),
        })),
        new Date(platform.clock.now().getTime() + 86_400_000),
      ),
    );
  for (let round = 0; round < 10; round++) {
    const named = ids.map((id) => `${id}-${round}`);
    await Promise.all([insert(named), insert(named.toReversed()), insert(named), insert(named.toReversed())]);
  }
  const [stored] = await sql`select count(*)::int as count from inbound_messages where provider_id like 'both-%'`;
  expect(stored!.count).toBe(3_000);
});

it('inbound messages from many senders of one account do not delay those of another', async () => {
  const other = await openShop(platform, { sms: provider });
  const change = (verb: string) =>
    platform.admin('POST', `/admin/queues/messaging/inbound/${verb}`, { reason: 'a test' });
  expect((await change('pause')).status).toBe(204);
  await sql`
    insert into inbound_messages (account_id, channel, provider_id, sender, sender_name, body, at, arrived_at, due_at)
    select ${shop.account.id}, 'sms', 'flood-' || n, '+49309018' || n, '', 'Hello', now(), now(), now() - interval '1 minute'
    from generate_series(10000, 10199) as n`;
  await other.hook('sms', inbound('i-1'));
  expect((await change('resume')).status).toBe(204);
  const its = await waitFor(
    'its event',
    () => platform.events(other.account.id).find(({ type }) => type === 'message.received'),
    60_000,
  );
  await waitFor('the others', () => received().length === 200, 60_000);
  // By the time it was emitted, not received by this test.
  const before = received().filter(({ timestamp }) => Date.parse(timestamp) < Date.parse(its.timestamp));
  expect(before.length).toBeLessThan(100);
}, 150_000);

it('waiting receipts of many accounts delay those of another by at most one batch', async () => {
  const other = await platform.account();
  const future = new Date(platform.clock.now().getTime() + 30 * 86_400_000); // not yet due for the job that applies them
  const many = [shop.account.id, (await platform.account()).id];
  await sql`
    insert into arrived_receipts (account_id, channel, provider_id, status, at, arrived_at, due_at)
    select account::uuid, 'sms', 'flood-' || n, 'read', ${future}, ${future}, ${future} - interval '1 hour'
    from unnest(${many}::text[]) as account, generate_series(1, 5000) as n
    union all select ${other.id}::uuid, 'sms', 'one-' || n, 'read', ${future}, ${future}, ${future} from generate_series(1, 2) as n`;
  const take = (finder: RowFinder, accounts: readonly string[] = []) =>
    inTransaction(sql, async (tx) => {
      const turn = { sql: tx, now: future, scope: { ...allAccounts, accounts }, room: batchOf(200) };
      const { rows, hasMore } = await finder.take(turn, async (due) => ({ rows: await takeArrivedReceipts(tx, due) }));
      expect(hasMore).toBe(true);
      return rows.map(({ account_id }) => account_id);
    });
  const finder = new RowFinder(dueReceipts);
  expect(await take(finder)).toHaveLength(200);
  expect((await take(finder)).filter((account) => account === other.id)).toHaveLength(2);
  expect(new Set(await take(new RowFinder(dueReceipts), [many[0]!, other.id]))).toEqual(new Set([many[1]]));
});

describe('a hook call', () => {
  /** Inserts receipts of unknown messages that are not looked at again in this test. */
  const insertUnknown = ({ account }: Shop, count: number) => sql`
    insert into arrived_receipts (account_id, channel, provider_id, status, at, arrived_at, due_at)
    select ${account.id}, 'sms', 'unknown-' || n, 'read', now(), now(), now() + interval '1 year' -- the platform's clock is ahead
    from generate_series(1, ${count}::int) as n`;

  it('with a wrong signature returns 401 and stores nothing', async () => {
    const response = await shop.hook('sms', inbound('i-1'), newSigningSecret());
    expect([response.status, response.body.error.code]).toEqual([401, 'invalid_key']);
    const unsigned = await rawRequest(platform.gatewayUrl, 'POST', shop.hooks.sms!, { body: inbound('i-1') });
    expect(unsigned.status).toBe(401);
    expect(await sql`select from inbound_messages where account_id = ${shop.account.id}`).toHaveLength(0);
  });

  it('at an unknown URL or of a deleted channel returns 404', async () => {
    const post = (path: string) => rawRequest(platform.gatewayUrl, 'POST', path, { body: {} });
    expect((await post('/hooks/messages/nobody')).status).toBe(404);
    await shop.account.client.messages.channels.delete({ params: { channel: 'sms' } });
    expect((await post(shop.hooks.sms!)).status).toBe(404);
  });

  it('with HEAD returns whether the hook exists for any provider, and changes nothing', async () => {
    const { client } = shop.account;
    const ask = async (path: string) => (await rawRequest(platform.gatewayUrl, 'HEAD', path)).status;
    expect(await ask(shop.hooks.sms!)).toBe(200);
    const settingsOf = { twilio: twilioSettings, whatsapp_cloud: whatsappSettings };
    for (const [name, settings] of Object.entries(settingsOf)) {
      const params = { channel: 'whatsapp' as const };
      const { hook_url } = await client.messages.channels.put({ params, body: { provider: name, settings } });
      expect(await ask(new URL(hook_url).pathname)).toBe(200);
    }
    const unknown = ['nobody', 'x'.repeat(32), 'x'.repeat(2_000), '%00', 'a%00b', '%f0%9f%98%80'];
    for (const token of unknown) expect([token, await ask(`/hooks/messages/${token}`)]).toEqual([token, 404]);
    const rows = await sql`
      select from inbound_messages where account_id = ${shop.account.id}
      union all select from arrived_receipts where account_id = ${shop.account.id}`;
    expect(rows).toHaveLength(0);
  });

  it('with a receipt is refused while thousands of the account wait, but not for other accounts', async () => {
    await insertUnknown(shop, 5_000);
    const receipt = { type: 'receipt', id: 'p-1', status: 'delivered', at: now() };
    const response = await shop.hook('sms', receipt);
    expect([response.status, response.body.error.code]).toEqual([503, 'service_unavailable']);
    expect((await shop.hook('sms', inbound('i-1'))).status).toBe(200);
    const other = await openShop(platform, { sms: provider });
    expect((await other.hook('sms', receipt)).status).toBe(200);
  });

  it('with a receipt is refused while thousands wait, even if several are concurrent', async () => {
    await insertUnknown(shop, 4_999);
    const calls: Promise<{ status: number }>[] = [];
    await inTransaction(sql, async (tx) => {
      await tx`lock table arrived_receipts in share row exclusive mode`;
      for (const n of [1, 2, 3, 4])
        calls.push(shop.hook('sms', { type: 'receipt', id: `p-${n}`, status: 'delivered', at: now() }));
      await waitFor('all to insert', async () => {
        const waiting = await sql`
          select from pg_locks where relation = 'arrived_receipts'::regclass and mode = 'RowExclusiveLock' and not granted`;
        return waiting.length >= calls.length;
      });
    });
    const statuses = (await Promise.all(calls)).map(({ status }) => status);
    expect(statuses.sort()).toEqual([200, 503, 503, 503]);
  });

  it('with values that cannot become strings is handled like one with other wrong values', async () => {
    const params = { channel: 'whatsapp' as const };
    const given = { provider: 'whatsapp_cloud', settings: whatsappSettings };
    const { hook_url } = await shop.account.client.messages.channels.put({ params, body: given });
    const deep = '['.repeat(20_000) + ']'.repeat(20_000);
    const wrong = ['{"toString":1,"valueOf":1}', deep];
    const entries = [...wrong, '"soon"'].map((time, n) => `{"id":"w-${n}","from":"4930901820","timestamp":${time}}`);
    const { body, headers } = signedGraphRequest(
      graphRequest({ messages: ['{}'] }).body.replace('"{}"', entries.join()),
    );
    const sent = { rawBody: body, headers };
    expect((await rawRequest(platform.gatewayUrl, 'POST', new URL(hook_url).pathname, sent)).status).toBe(200);
    await waitFor('all messages', () => received().length === entries.length);
    for (const field of ['type', 'id', 'from', 'name', 'body', 'at']) {
      for (const value of wrong) {
        const text = JSON.stringify({ ...inbound('i-1'), [field]: '{}' }).replace('"{}"', value);
        const response = await shop.hook('sms', text);
        expect([response.status, response.body.error.field]).toEqual([400, field]);
      }
    }
  });

  it('with neither a receipt nor a message returns 400 and names the field', async () => {
    const response = await shop.hook('sms', { type: 'other' });
    expect([response.status, response.body.error.field]).toEqual([400, 'type']);
  });
});
