import { decryptSecret, parseSecretKeys } from '@customer-platform/outbound';
import { type Platform, startPlatform, type TestAccount } from '@customer-platform/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

let platform: Platform;
let account: TestAccount;
beforeAll(async () => {
  platform = await startPlatform({ services: ['messaging'] });
}, 60_000);
afterAll(() => platform.stop());
beforeEach(async () => {
  account = await platform.account();
});

const url = 'http://127.0.0.1:9/';
const put = (channel: string, body: object, headers = {}) =>
  account.request('PUT', `/v1/messages/channels/${channel}`, { body, headers });
const list = async () => (await account.client.messages.channels.list({})).data;
const twilio = { account_sid: `AC${'a'.repeat(32)}`, auth_token: 'secret-token', from: '+4930901820' };

describe('a channel', () => {
  it('shows its generated secret once', async () => {
    const made = await put('sms', { provider: 'http', settings: { url } });
    expect(made.status).toBe(200);
    expect(made.body.settings.secret).toMatch(/^whsec_/);
    expect(made.body.hook_url).toMatch(/^http:\/\/.*\/hooks\/messages\/[\w-]{32}$/);
    const { settings: _, ...rest } = made.body;
    expect(await list()).toEqual([{ ...rest, settings: { url } }]);
  });

  it('keeps its hook and omitted secrets in a change, but not with another provider', async () => {
    const { hook_url } = (await put('sms', { provider: 'twilio', settings: twilio })).body;
    const { auth_token: _, ...shown } = twilio;
    expect((await list())[0]!.settings).toEqual(shown);
    const changed = await put('sms', { provider: 'twilio', settings: { ...shown, from: '+4930901821' } });
    expect([changed.status, changed.body.hook_url, changed.body.settings.from]).toEqual([200, hook_url, '+4930901821']);
    const other = await put('sms', { provider: 'http', settings: {} });
    expect([other.status, other.body.error.field, other.body.error.message]).toEqual([
      400,
      'settings',
      'settings.url is required',
    ]);
    expect((await list())[0]!.provider).toBe('twilio');
  });

  it('does not keep a password for another server', async () => {
    const server = { host: '127.0.0.1', port: 2525, security: 'none', username: 'ada', from: 'ada@example.com' };
    const stored = async () => {
      const [row] = await platform.database(
        'messaging',
      )`select settings from channels where account_id = ${account.id}`;
      const keys = parseSecretKeys(platform.env('messaging').MESSAGING_SECRET_KEY!);
      return JSON.parse(decryptSecret(keys, row!.settings, account.id, 'email')).password;
    };
    await put('email', { provider: 'smtp', settings: { ...server, password: 'secret' } });
    await put('email', { provider: 'smtp', settings: { ...server, from: 'bo@example.com' } });
    expect(await stored()).toBe('secret');
    const elsewhere = await put('email', { provider: 'smtp', settings: { ...server, host: 'localhost' } });
    expect([elsewhere.status, elsewhere.body.error.message]).toEqual([
      400,
      'settings.password must be given with a username',
    ]);
    const { username: _, ...open } = server;
    await put('email', { provider: 'smtp', settings: { ...open, host: 'localhost' } });
    expect(await stored()).toBeUndefined();
  });

  it('belongs to one account, is listed by page, and disappears when deleted', async () => {
    for (const channel of ['sms', 'whatsapp', 'email']) await put(channel, { provider: 'http', settings: { url } });
    const first = await account.client.messages.channels.list({ query: { limit: 2 } });
    expect([first.data.map(({ channel }) => channel), first.next]).toEqual([['email', 'sms'], 'sms']);
    const second = await account.client.messages.channels.list({ query: { limit: 2, starting_after: 'sms' } });
    expect(second.data.map(({ channel }) => channel)).toEqual(['whatsapp']);
    const stranger = await platform.account();
    expect((await stranger.client.messages.channels.list({})).data).toEqual([]);
    await account.client.messages.channels.delete({ params: { channel: 'sms' } });
    expect((await list()).map(({ channel }) => channel)).toEqual(['email', 'whatsapp']);
    expect((await account.request('DELETE', '/v1/messages/channels/sms')).status).toBe(404);
  });
});
