import type { AuditEntry } from '@customer-platform/contracts/accounts';
import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';

let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform({ services: [] });
});
afterAll(() => platform?.stop());

let count = 0;
/** Makes a change with a unique reason in its body or query. Returns the response body and the audit entry of the change. */
async function change(method: string, path: string, body?: object): Promise<{ body: never; entry: AuditEntry }> {
  const reason = `reason ${++count}, ü`;
  const inQuery = method === 'DELETE' ? `?reason=${encodeURIComponent(reason)}` : '';
  const sent = await platform.admin(method, `${path}${inQuery}`, body && { ...body, reason });
  expect([path, sent.status < 300]).toEqual([path, true]);
  const { body: audit } = await platform.admin('GET', '/admin/audit?limit=1');
  const [entry] = audit.data as AuditEntry[];
  expect([path, entry!.reason]).toEqual([path, reason]);
  return { body: sent.body as never, entry: entry! };
}

it('every change accepts a reason, which the audit log shows', async () => {
  const { id } = (await change('POST', '/admin/accounts', { name: 'Acme' })).body as { id: string };
  const account = `/admin/accounts/${id}`;
  const updated = await change('PATCH', account, { name: 'Acme Ltd' });
  expect(updated.entry).toMatchObject({ before: { name: 'Acme' }, after: { name: 'Acme Ltd' } });
  const key = await change('POST', `${account}/keys`, { name: 'k', mode: 'live', scopes: ['*'] });
  expect(key.entry.after).not.toHaveProperty('reason');
  const member = await change('POST', `${account}/members`, { name: 'Ada', email: 'ada@example.com' });
  await change('DELETE', `${account}/members/${(member.body as { id: string }).id}`);
  const rotated = await change('POST', `/admin/keys/${(key.body as { id: string }).id}/rotate`, {});
  await change('DELETE', `/admin/keys/${(rotated.body as { id: string }).id}`);
  const paused = await change('POST', '/admin/queues/gateway/outbox/pause', { account: id });
  expect(paused.entry.after).toEqual({ account: id, reason: paused.entry.reason });
  const resumed = await change('POST', '/admin/queues/gateway/outbox/resume', { account: id });
  expect(resumed.entry.before).toEqual({ account: id, reason: paused.entry.reason, actor: 'admin' });
});

it('a change without a reason has null; a blank or long reason is refused and the error names the field', async () => {
  const { body } = await platform.admin('POST', '/admin/accounts', { name: 'Acme' });
  const { body: audit } = await platform.admin('GET', '/admin/audit?limit=1');
  expect(audit.data).toMatchObject([{ action: 'accounts.create', reason: null }]);
  for (const reason of ['', '  ', 'x'.repeat(201)]) {
    const refused = [
      await platform.admin('PATCH', `/admin/accounts/${body.id}`, { name: 'B', reason }),
      await platform.admin('DELETE', `/admin/keys/${body.id}?reason=${encodeURIComponent(reason)}`),
    ];
    expect(refused.map((one) => [one.status, one.body.error.field ?? one.body.error.code])).toEqual([
      [400, 'reason'],
      [404, 'not_found'],
    ]);
  }
});
