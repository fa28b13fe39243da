import type { AccountContext } from '@customer-platform/contracts/core';
import { expect, it } from '@jest/globals';
import { AccountDirectory, contextReader, signContext } from './account-context.ts';

const secret = 's'.repeat(32);
const account: AccountContext = {
  id: '0190a5a4-0000-7000-8000-000000000001',
  name: 'Acme',
  mode: 'live',
  timezone: 'UTC',
  country: 'DE',
  language: 'en',
  currency: 'EUR',
  modules: ['calendar'],
};

it('reads what was signed with the same secret, until it is over', () => {
  const read = contextReader(secret);
  const header = signContext(secret, account, 1_000, 500);
  expect(read(header, 1_000)).toEqual(account);
  expect(read(header, 1_500)).toEqual(account);
  expect(() => read(header, 1_501)).toThrow('answers the gateway only');
});

it('refuses what is missing, forged, changed or no context at all', () => {
  const read = contextReader(secret);
  const [payload, mac] = signContext(secret, account, 1_000, 500).split('.') as [string, string];
  const other = Buffer.from(JSON.stringify({ account: { ...account, id: crypto.randomUUID() }, exp: 2_000 })).toString(
    'base64url',
  );
  const forged = signContext('t'.repeat(32), account, 1_000, 500);
  for (const header of [
    undefined,
    '',
    '.',
    'x',
    payload,
    `${payload}.`,
    `${other}.${mac}`,
    forged,
    `${payload}.${mac}x`,
  ]) {
    expect(() => read(header, 1_000)).toThrow('answers the gateway only');
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
