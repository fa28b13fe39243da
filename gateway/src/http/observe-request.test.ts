import { getDeal } from '@customer-platform/contracts/crm';
import { expect, it } from '@jest/globals';
import { pathInSpan } from './observe-request.ts';

const token = 'aB3_-'.repeat(6).padEnd(32, 'x');

it.each([`//hooks/messages/${token}`, `/Hooks/messages/${token}?x=1`, `/hooks/messages/%61${token.slice(1)}/`])(
  'the token of a hook whose URL is misspelt, %s, is in no span',
  (url) => {
    const path = pathInSpan(url, {});
    expect(path).toMatch(/^\/+hooks\/messages\/\{…\}\/?$/i);
    expect(path).not.toContain(token.slice(1));
  },
);

it('an id is, where the path is that of an operation', () => {
  const path = '/v1/crm/deals/019a9ca0-4c6e-7d95-8a91-a2b3c4d5e6f0';
  expect(pathInSpan(path, { operation: getDeal })).toBe(path);
});
