import { expect, it } from '@jest/globals';
import { account } from '../../test/account.ts';
import { contextReader, contextSigner, signContext } from './account-context.ts';

const secret = 's'.repeat(32);
const target = '/v1/calendar/settings?x=1';
const request = { service: 'calendar', method: 'PATCH', target } as const;
const read = contextReader(secret, 'calendar');
const signed = (by = secret) => signContext(contextSigner(by, account), request, 1_500);

it('reads a context signed with the same secret, until it expires', () => {
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

it('refuses a header that is missing, forged, changed or malformed', () => {
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
