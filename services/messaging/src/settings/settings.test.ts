import { type Platform, startPlatform, type TestAccount } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

let platform: Platform;
let account: TestAccount;
beforeAll(async () => {
  platform = await startPlatform({ services: ['messaging'] });
  account = await platform.account();
}, 60_000);
afterAll(() => platform.stop());

const path = '/v1/messages/settings';
const standard = { automatic: { fallback: ['sms', 'email'], fallback_after_seconds: 3_600 } };

describe('the settings of automatic messages', () => {
  it('default to sms and email after an hour, and change one by one', async () => {
    const { client, testClient } = account;
    expect(await client.messages.settings.get()).toEqual(standard);
    const fallback = await client.messages.settings.update({ body: { automatic: { fallback: ['email'] } } });
    expect(fallback).toEqual({ automatic: { fallback: ['email'], fallback_after_seconds: 3_600 } });
    const seconds = await client.messages.settings.update({ body: { automatic: { fallback_after_seconds: 10 } } });
    expect(seconds).toEqual({ automatic: { fallback: ['email'], fallback_after_seconds: 10 } });
    expect(await client.messages.settings.update({ body: {} })).toEqual(seconds);
    expect(await client.messages.settings.update({ body: { automatic: { fallback: [] } } })).toEqual({
      automatic: { fallback: [], fallback_after_seconds: 10 },
    });
    expect(await testClient.messages.settings.get()).toEqual(standard);
  });

  it.each([
    [{ automatic: { fallback: ['fax'] } }],
    [{ automatic: { fallback: 'sms' } }],
    [{ automatic: { fallback: ['sms', 'sms'] } }],
    [{ automatic: { fallback_after_seconds: 9 } }],
    [{ automatic: { fallback_after_seconds: 259_201 } }],
    [{ automatic: [] }],
  ])('are refused where they are %j', async (body) => {
    const response = await account.request('PATCH', path, { body });
    expect([response.status, response.body.error.field]).toEqual([400, 'automatic']);
  });
});
