import { type Platform, startPlatform, type TestAccount } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform({ services: [] });
}, 60_000);
afterAll(() => platform?.stop());

const ada = { name: 'Ada', email: 'ada@example.com' };
const add = (account: TestAccount, body: object = ada, key = account.key) =>
  account.request('POST', '/v1/members', { body, key });
const remove = (account: TestAccount, id: string, key = account.key) =>
  account.request('DELETE', `/v1/members/${id}`, { key });
const list = async (account: TestAccount, query = '', key = account.key) =>
  (await account.request('GET', `/v1/members${query}`, { key })).body;

describe('a team member added by a key', () => {
  it('is published to services, leaves, and comes back under the same id', async () => {
    const account = await platform.account();
    const added = await add(account, { name: 'Ada', email: ' Ada@Example.com ' });
    expect([added.status, added.body]).toEqual([201, { ...ada, id: expect.any(String), active: true }]);
    const { id } = added.body;
    expect((await platform.event(account.id, 'member.added')).data).toEqual({ member: added.body });
    expect([(await remove(account, id)).status, (await remove(account, id)).status]).toEqual([204, 404]);
    const inactive = { ...added.body, active: false };
    expect((await platform.event(account.id, 'member.removed')).data).toEqual({ member: inactive });
    expect((await list(account)).data).toEqual([inactive]);
    const back = await add(account, { ...ada, name: 'Ada L.' });
    expect([back.status, back.body]).toEqual([201, { ...added.body, name: 'Ada L.' }]);
    expect((await list(account)).data).toEqual([back.body]);
  });

  it("belongs to the key's own account, for a test key to the sandbox, and to no other", async () => {
    const [account, other] = [await platform.account(), await platform.account()];
    const { id } = (await add(account, ada, account.testKey)).body;
    expect((await platform.event(account.sandboxId, 'member.added')).mode).toBe('test');
    const { body } = await platform.admin('GET', `/admin/accounts/${account.sandboxId}/members`);
    expect(body.data).toMatchObject([{ id, ...ada }]);
    expect((await list(account)).data).toEqual([]);
    for (const stranger of [account, other]) {
      const refused = await remove(stranger, id);
      expect([refused.status, refused.body.error.code]).toEqual([404, 'not_found']);
    }
    expect((await remove(account, id, account.testKey)).status).toBe(204);
  });

  it('with an invalid field is refused, and the error names the field', async () => {
    const account = await platform.account();
    for (const [body, field] of [
      [{ email: ada.email }, 'name'],
      [{ ...ada, name: '' }, 'name'],
      [{ ...ada, email: 'nobody' }, 'email'],
      [{ ...ada, email: 'a/b@example.com' }, 'email'],
    ] as const) {
      const { status, body: refused } = await add(account, body);
      expect([status, refused.error.code, refused.error.field]).toEqual([400, 'invalid_request', field]);
    }
  });

  it('is added and removed once under one Idempotency-Key', async () => {
    const account = await platform.account();
    const headers = { 'idempotency-key': 'once' };
    const send = (method: string, path: string, body?: object) =>
      account.request(method, path, { headers, ...(body && { body }) });
    const responses = [await send('POST', '/v1/members', ada), await send('POST', '/v1/members', ada)];
    const path = `/v1/members/${responses[0]!.body.id}`;
    responses.push(await send('DELETE', path), await send('DELETE', path));
    expect(responses.map(({ status }) => status)).toEqual([201, 201, 204, 204]);
    const replayed = responses.map(({ headers: received }) => received.get('idempotent-replayed'));
    expect(replayed).toEqual([null, 'true', null, 'true']);
    const other = await send('POST', '/v1/members', { ...ada, name: 'Bo' });
    expect([other.status, other.body.error.field]).toEqual([400, 'Idempotency-Key']);
  });
});

it('members are listed newest first, page by page', async () => {
  const account = await platform.account();
  const made: string[] = [];
  for (const name of ['a', 'b', 'c'])
    made.unshift((await add(account, { name, email: `${name}@example.com` })).body.id);
  const first = await list(account, '?limit=2');
  const second = await list(account, `?limit=2&starting_after=${first.next}`);
  expect([...first.data, ...second.data].map(({ id }: { id: string }) => id)).toEqual(made);
  expect(second).toMatchObject({ has_more: false, next: null });
  const { error } = await list(account, `?starting_after=${made[0]}`, account.testKey);
  expect(error).toMatchObject({ code: 'invalid_request', field: 'starting_after' });
});

it('the audit log names the key that added or removed a member', async () => {
  const account = await platform.account();
  const { id } = (await add(account)).body;
  // Changes nothing, so it is not recorded.
  await add(account);
  await remove(account, id);
  const actor = `key:…${account.key.slice(-4)}`;
  const target = `members/${id}`;
  const { body } = await platform.admin('GET', `/admin/audit?account=${account.id}&actor=${encodeURIComponent(actor)}`);
  expect(body.data).toMatchObject([
    { action: 'members.remove', actor, target, before: ada },
    { action: 'members.add', actor, target, after: ada },
  ]);
  expect(body.data).toHaveLength(2);
});

it('reading needs account:read, and changes need account:write', async () => {
  const account = await platform.account();
  const [reader, writer] = await Promise.all(
    ['account:read', 'account:write'].map((scope) => platform.issueKey(account.id, { scopes: [scope] })),
  );
  const added = await add(account, ada, writer);
  expect([added.status, (await list(account, '', reader)).data]).toEqual([201, [added.body]]);
  for (const { error } of [
    await list(account, '', writer),
    (await add(account, ada, reader)).body,
    (await remove(account, added.body.id, reader)).body,
  ])
    expect(error.code).toBe('scope_missing');
});
