import type { AccountContext } from '@customer-platform/contracts/core';
import { expect, it } from '@jest/globals';
import { AccountDirectory, contextReader, contextSigner, signContext } from './account-context.ts';

const secret = 's'.repeat(32);
const account: AccountContext = {
  id: '0190a5a4-0000-7000-8000-000000000001',
  owner: '0190a5a4-0000-7000-8000-000000000001',
  name: 'Acme',
  mode: 'live',
  timezone: 'UTC',
  country: 'DE',
  language: 'en',
  currency: 'EUR',
  modules: ['calendar'],
  suspended: false,
};
const target = '/v1/calendar/settings?x=1';
const request = { service: 'calendar', method: 'PATCH', target } as const;
const read = contextReader(secret, 'calendar');
const signed = (by = secret) => signContext(contextSigner(by, account), request, 1_500);

it('reads what was signed with the same secret, until it is over', () => {
  expect(read(signed(), 'PATCH', target, 1_000)).toEqual(account);
  expect(read(signed(), 'PATCH', target, 1_500)).toEqual(account);
  expect(() => read(signed(), 'PATCH', target, 1_501)).toThrow('from the gateway only');
});

it('refuses a context that was made for another service, method, path or query', () => {
  const others: [ReturnType<typeof contextReader>, string, string][] = [
    [contextReader(secret, 'crm'), 'PATCH', target],
    [read, 'DELETE', target],
    [read, 'PATCH', '/v1/calendar/staff?x=1'],
    [read, 'PATCH', '/v1/calendar/settings?x=2'],
  ];
  for (const [reader, method, path] of others) {
    expect(() => reader(signed(), method, path, 1_000)).toThrow('from the gateway only');
  }
});

it('refuses what is missing, forged, changed or no context at all', () => {
  const [payload, expiry, mac] = signed().split('.') as [string, string, string];
  const other = contextSigner('t'.repeat(32), { ...account, id: crypto.randomUUID() }).payload;
  const forged = signed('t'.repeat(32));
  const wrong = [undefined, '', '.', '..', 'x', payload, `${payload}.${expiry}`, `${payload}.${expiry}.`, forged];
  wrong.push(`${other}.${expiry}.${mac}`, `${payload}.9999999.${mac}`, `${payload}.NaN.${mac}`, `${signed()}x`);
  wrong.push(`${signed()}.x`);
  for (const header of wrong) {
    expect(() => read(header, 'PATCH', target, 1_000)).toThrow('from the gateway only');
  }
});

it('knows what it asked for, each account asked for once', async () => {
  const asked: string[] = [];
  const directory = new AccountDirectory(async (id) => {
    asked.push(id);
    return id === account.id ? account : null;
  });
  expect(directory.known(account.id)).toBeUndefined();
  await directory.learn([account.id, 'nobody', account.id]);
  expect([directory.known(account.id), directory.known('nobody')]).toEqual([account, null]);
  expect(asked.sort()).toEqual([account.id, 'nobody']);
});

it('forgets an account that changes, also one that is just being fetched', async () => {
  const { promise: changed, resolve: change } = Promise.withResolvers<void>();
  const replies = [account, { ...account, suspended: true }];
  const directory = new AccountDirectory(async () => {
    const reply = replies.shift()!;
    if (!reply.suspended) await changed;
    return reply;
  });
  const learned = directory.learn([account.id]);
  directory.forget(account.id);
  change();
  await learned;
  expect(directory.known(account.id)?.suspended).toBe(true);
  directory.forget('all');
  expect(directory.known(account.id)).toBeUndefined();
});
