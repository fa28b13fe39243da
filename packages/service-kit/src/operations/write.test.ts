import { randomBytes, randomUUID } from 'node:crypto';
import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Database, inTransaction } from '../database/database.ts';
import { lockNumber } from '../database/locks.ts';
import { claimKey, isStoredAlready, KeyRunning, storeResponse } from './idempotency.ts';

let platform: Platform;
let sql: Database;
beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp'] });
  sql = platform.database('cdp');
  await sql`create sequence undone`;
  await sql`create table undoing (times int, code text, moment text)`;
  await sql.unsafe(`create function undo() returns trigger language plpgsql as $$ begin
    if (select nextval('undone') <= times from undoing where moment = tg_when) then
      raise exception 'undone by a test' using errcode = (select code from undoing);
    end if;
    return new;
  end $$`);
  await sql`create trigger undo before insert on contacts for each row execute function undo()`;
  await sql`
    create constraint trigger undo_at_commit after insert on contacts deferrable initially deferred
      for each row execute function undo()`;
}, 60_000);
afterAll(() => platform.stop());
beforeEach(async () => {
  await sql`alter sequence undone restart`;
  await sql`delete from undoing`;
});

/** Creates a contact, which fails `times` times, then another. Returns the outcome of the first, and the names in all events. */
async function createContact(times: number, code: string, moment: 'BEFORE' | 'AFTER' = 'BEFORE') {
  await sql`insert into undoing values (${times}, ${code}, ${moment})`;
  const account = await platform.account();
  const response = await account.request('POST', '/v1/cdp/contacts', { body: { name: 'Ada' } });
  const { data } = await account.client.cdp.contacts.list({});
  // The next write succeeds. Any event of the first one comes before the event of this one.
  const marker = await account.client.cdp.contacts.create({ body: { name: 'Bo' } });
  await platform.event(account.id, 'contact.created', ({ contact }) => contact.id === marker.id);
  const names = platform
    .events(account.id)
    .flatMap(({ type, data }) => (type.startsWith('contact.') ? [data.contact.name] : []));
  return { status: response.status, retryAfter: response.headers.get('retry-after'), contacts: data.length, names };
}

describe('a write that PostgreSQL rolls back for another one', () => {
  it.each(['40P01', '40001'])('%s: is retried and done once', async (code) => {
    expect(await createContact(2, code)).toMatchObject({ status: 201, contacts: 1, names: ['Ada', 'Bo'] });
  });

  it.each([
    ['with its statement', 'BEFORE'],
    ['at its commit, when its event is written', 'AFTER'],
  ] as const)('is refused for now after repeated rollbacks, and publishes no event: %s', async (_, moment) => {
    const refused = { status: 503, retryAfter: '1', contacts: 0, names: ['Bo'] };
    expect(await createContact(3, '40P01', moment)).toMatchObject(refused);
  });
});

it('a key is stored for a path of any length', async () => {
  const account = await platform.account();
  const path = `/v1/cdp/contacts/${randomBytes(4_000).toString('hex')}`;
  const headers = { 'idempotency-key': 'long' };
  const send = () => account.request('PATCH', path, { body: { name: 'Ada' }, headers });
  expect((await send()).status).toBe(404);
  const again = await send();
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([404, 'true']);
});

it('a response is stored once in 24 hours, and the error of a second one does not quote the first', async () => {
  const { id } = await platform.account();
  const claim = { accountId: id, method: 'POST', path: '/', key: 'k', fingerprint: Buffer.alloc(32), seal: undefined };
  const store = (body: string, now: Date) =>
    inTransaction(sql, async (tx) => void (await storeResponse(tx, claim, { status: 201, body }, now)));
  const [now, nextDay] = [new Date(), new Date(Date.now() + 24 * 3_600_000)];
  await store('first', now);
  const error: unknown = await store('second', now).catch((failure: unknown) => failure);
  expect(isStoredAlready(error)).toBe(true);
  expect({ ...(error as Error) }).not.toHaveProperty('detail');
  await store('third', nextDay);
  expect(await sql`select answer from idempotency where account_id = ${id}`).toEqual([{ answer: 'third' }]);
});

it('a refusal has its code in a header, even if it is stored under a key or replayed', async () => {
  const account = await platform.account();
  const send = (headers: Record<string, string>) =>
    account.request('POST', '/v1/cdp/contacts', { body: { name: 1 }, headers });
  const keyed = { 'idempotency-key': 'refused' };
  const refused = [await send({}), await send(keyed), await send(keyed)];
  expect(refused.map(({ status, headers }) => [status, headers.get('error-code')])).toEqual(
    Array(3).fill([400, 'invalid_request']),
  );
  expect(refused[2]!.headers.get('idempotent-replayed')).toBe('true');
});

it('a key’s lock number differs from PostgreSQL’s own hash, so that no caller can choose a key that holds a lock of a service', async () => {
  const [accountId, method, path, key] = [randomUUID(), 'POST', '/v1/cdp/contacts', 'kAAA1{eFV9$IQpP'];
  const claim = { accountId, method, path, key, fingerprint: Buffer.alloc(32), seal: undefined };
  await inTransaction(sql, async (holder) => {
    const claimed = () => inTransaction(sql, (tx) => claimKey(tx, claim, new Date()));
    await holder`select pg_advisory_xact_lock(hashtextextended(${`${accountId} ${method} ${path} ${key}`}, 0))`;
    expect(await claimed()).toBeUndefined();
    await holder`select pg_advisory_xact_lock(${lockNumber('key', accountId, method, path, key)}::bigint)`;
    await expect(claimed()).rejects.toThrow(KeyRunning);
  });
});
