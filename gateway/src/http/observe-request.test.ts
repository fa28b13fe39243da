import { getDeal } from '@customer-platform/contracts/crm';
import { expect, it } from '@jest/globals';
import { pathInSpan } from './observe-request.ts';

const token = 'aB3_-'.repeat(6).padEnd(32, 'x');

it.each([`//hooks/messages/${token}`, `/Hooks/messages/${token}?x=1`, `/hooks/messages/%61${token.slice(1)}/`])(
  'the token of an inbound webhook with a misspelled URL, %s, is in no span',
  (url) => {
    const path = pathInSpan(url, {});
    expect(path).toMatch(/^\/+hooks\/messages\/\{…\}\/?$/i);
    expect(path).not.toContain(token.slice(1));
  },
);

it('an id is in the span if the path belongs to an operation', () => {
  const path = '/v1/crm/deals/019a9ca0-4c6e-7d95-8a91-a2b3c4d5e6f0';
  expect(pathInSpan(path, { operation: getDeal })).toBe(path);
});
