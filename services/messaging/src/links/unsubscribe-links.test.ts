import { randomBytes, randomUUID } from 'node:crypto';
import { parseSecretKeys } from '@customer-platform/outbound';
import { expect, it } from '@jest/globals';
import { UnsubscribeLinks } from './unsubscribe-links.ts';

const [first, second] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];
const linksOf = (keys: string) => new UnsubscribeLinks(parseSecretKeys(keys), 'https://shop.example');
const links = linksOf(first);
const subscription = { accountId: randomUUID(), contactId: randomUUID(), channel: 'email' as const };
const tokenOf = (url: string) => url.slice('https://shop.example/u/'.length);
const token = tokenOf(links.urlOf(subscription));

it('a link contains its account, contact and channel, in characters that need no escaping', () => {
  expect(links.urlOf(subscription)).toBe(`https://shop.example/u/${token}`);
  expect(token).toMatch(/^[A-Za-z0-9_-]{88}$/);
  expect(links.subscriptionOf(token)).toEqual(subscription);
  expect(links.subscriptionOf(tokenOf(links.urlOf({ ...subscription, channel: 'sms' })))?.channel).toBe('sms');
});

it('a link with a changed byte, of another key, truncated or extended is invalid', () => {
  const bytes = Buffer.from(token, 'base64url');
  for (let index = 0; index < bytes.length; index++) {
    const changed = Buffer.from(bytes);
    changed[index]! ^= 1;
    expect([index, links.subscriptionOf(changed.toString('base64url'))]).toEqual([index, undefined]);
  }
  expect(linksOf(second).subscriptionOf(token)).toBeUndefined();
  for (const wrong of [
    '',
    token.slice(1),
    token.slice(0, -1),
    `${token}A`,
    `${token}=`,
    'x'.repeat(88),
    'ü'.repeat(88),
  ])
    expect(links.subscriptionOf(wrong)).toBeUndefined();
});

it('a link survives a key rotation while the old key is configured', () => {
  const rotated = linksOf(`2:${second},1:${first}`);
  expect(rotated.subscriptionOf(token)).toEqual(subscription);
  expect(linksOf(`2:${second}`).subscriptionOf(tokenOf(rotated.urlOf(subscription)))).toEqual(subscription);
  expect(linksOf(`2:${second}`).subscriptionOf(token)).toBeUndefined();
});
