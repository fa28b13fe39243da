import { randomBytes } from 'node:crypto';
import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Database } from './database.ts';

let platform: Platform;
let sql: Database;
beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp'] });
  sql = platform.database('cdp');
  await sql`create sequence undone`;
  await sql`create table undoing (times int, code text)`;
  await sql.unsafe(`create function undo() returns trigger language plpgsql as $$ begin
    if nextval('undone') <= (select times from undoing) then
      raise exception 'undone by a test' using errcode = (select code from undoing);
    end if;
    return new;
  end $$`);
  await sql`create trigger undo before insert on contacts for each row execute function undo()`;
}, 60_000);
afterAll(() => platform.stop());
beforeEach(async () => {
  await sql`alter sequence undone restart`;
  await sql`delete from undoing`;
});

async function createContact(times: number, code: string) {
  await sql`insert into undoing values (${times}, ${code})`;
  const account = await platform.account();
  const response = await account.request('POST', '/v1/cdp/contacts', { body: { name: 'Ada' } });
  const { data } = await account.client.listContacts({});
  const kinds = platform.events(account.id).flatMap(({ type }) => (type.startsWith('contact.') ? [type] : []));
  return { status: response.status, retryAfter: response.headers.get('retry-after'), contacts: data.length, kinds };
}

describe('a write that PostgreSQL undoes for another one', () => {
  it.each(['40P01', '40001'])('%s: is begun again, and done once', async (code) => {
    const { status, contacts } = await createContact(2, code);
    expect([status, contacts]).toEqual([201, 1]);
  });

  it('is refused for now where that goes on', async () => {
    expect(await createContact(3, '40P01')).toMatchObject({ status: 503, retryAfter: '1', contacts: 0, kinds: [] });
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
