import { describe, expect, it } from '@jest/globals';
import {
  hookCall,
  outgoing,
  providerTools,
  startTwilioServer,
  twilioRequest,
  twilioSettings,
  useInTests,
} from '../../test/provider-servers.ts';
import { provider } from './twilio.ts';

const server = await startTwilioServer();
const tools = providerTools({ twilioUrl: server.url });
useInTests(server, tools);

const send = (given = {}, settings = {}) => provider.send(outgoing(given), { ...twilioSettings, ...settings }, tools);

describe('sending', () => {
  it('posts a text with the URL for receipts, and takes its sid', async () => {
    expect(await send()).toEqual({ outcome: 'accepted', providerId: expect.stringMatching(/^SM[0-9a-f]{32}$/) });
    const { to, body } = outgoing();
    expect(server.taken[0]?.fields).toEqual({
      To: to,
      From: twilioSettings.from,
      Body: body,
      StatusCallback: tools.hookUrl,
    });
  });

  it('prefixes both numbers on WhatsApp, and sends the id of a messaging service', async () => {
    expect((await send({ channel: 'whatsapp' })).outcome).toBe('accepted');
    expect(server.taken[0]?.fields).toMatchObject({ To: 'whatsapp:+4915112345678', From: 'whatsapp:+4930901820' });
    const from = `MG${'ab'.repeat(16)}`;
    expect((await send({}, { from })).outcome).toBe('accepted');
    expect(server.taken[1]?.fields).toMatchObject({ MessagingServiceSid: from });
    expect(server.taken[1]?.fields).not.toHaveProperty('From');
    expect((await send({ channel: 'whatsapp', to: 'DE.1349120865530274' })).outcome).toBe('accepted');
    expect(server.taken[2]?.fields).toMatchObject({ To: 'whatsapp:DE.1349120865530274' });
  });

  it('is rejected with the text of Twilio, without the token', async () => {
    expect(await send({}, { auth_token: 'another' })).toEqual({
      outcome: 'refused',
      message: 'Twilio responded with 401: Authenticate (20003)',
    });
    expect(await send({ to: '+1' })).toEqual({
      outcome: 'rejected',
      message: "Twilio responded with 400: The 'To' number +1 is not valid (21211)",
    });
    server.responses.push({ status: 400, body: { message: `not ${twilioSettings.auth_token}` } });
    expect(await send()).toEqual({ outcome: 'rejected', message: 'Twilio responded with 400: not [secret]' });
  });

  it('is unavailable if Twilio is overloaded, and unknown without a clear response', async () => {
    const body = { code: 20429, message: 'Too Many Requests' };
    server.responses.push({ status: 429, body, headers: { 'retry-after': '3' } });
    expect(await send()).toEqual({
      outcome: 'unavailable',
      message: 'Twilio responded with 429: Too Many Requests (20429)',
      retryAfterMs: 3000,
    });
    server.responses.push({ status: 201, body: { status: 'queued' } }, { fault: 'reset' });
    expect((await send()).outcome).toBe('unknown');
    expect((await send()).outcome).toBe('unknown');
    expect(server.taken).toHaveLength(3);
  });
});

describe('the hook', () => {
  const now = new Date('2026-11-20T09:00:00Z');
  const receipt = { MessageSid: 'SM1', SmsSid: 'SM1', MessageStatus: 'delivered', To: '+1', From: '+2' };
  const invalidKey = expect.objectContaining({ code: 'invalid_key' });
  const read = (fields: Record<string, string>, change: Partial<Parameters<typeof hookCall>[0]> = {}) =>
    provider.readHook!(
      hookCall({ ...twilioRequest(tools.hookUrl, fields), ...change }, now),
      twilioSettings,
      tools.hookUrl,
    );

  it.each([
    ['sent delivered read', (status: string) => [{ providerId: 'SM1', status, at: now }]],
    ['undelivered failed', () => [{ providerId: 'SM1', status: 'failed', at: now }]],
    ['accepted queued sending canceled constructor', () => []],
  ])('reads receipts as of now, and leaves out what says nothing new: %s', (statuses, receiptsOf) => {
    for (const status of statuses.split(' '))
      expect(read({ ...receipt, MessageStatus: status })).toEqual({ receipts: receiptsOf(status), messages: [] });
  });

  const written = { MessageSid: 'SM2', SmsStatus: 'received', From: 'whatsapp:+4915112345678', ProfileName: 'Ada' };
  const number = '+4915112345678';
  const message = { providerId: 'SM2', sender: number, from: number, name: 'Ada', body: '', at: now };
  const plain = { type: 'text', media: null, reactionTo: null };
  const fileUrl = 'https://api.twilio.com/2010-04-01/Accounts/AC1/Messages/SM2/Media/ME1';
  const file = (type: string) => ({ NumMedia: '1', MediaUrl0: fileUrl, MediaContentType0: type });
  const media = (mime_type: string) => ({ mime_type, file_name: null, provider_id: fileUrl });

  it.each<[string, Record<string, string>, object]>([
    ['a text', { Body: 'Grüße +1 & 2', NumMedia: '0' }, { body: 'Grüße +1 & 2' }],
    [
      'an image with a caption',
      { Body: 'How much is this one?', MessageType: 'image', ...file('image/jpeg') },
      { type: 'image', body: 'How much is this one?', media: media('image/jpeg') },
    ],
    ['an image by MMS', file('image/png'), { type: 'image', media: media('image/png') }],
    ['a video', file('video/mp4'), { type: 'video', media: media('video/mp4') }],
    ['a voice message', file('audio/ogg'), { type: 'audio', media: media('audio/ogg') }],
    ['a document', file('application/pdf'), { type: 'document', media: media('application/pdf') }],
    ['a card', file('text/x-vcard'), { type: 'contacts', media: media('text/x-vcard') }],
    ['a sticker', { MessageType: 'sticker', ...file('image/webp') }, { type: 'sticker', media: media('image/webp') }],
    [
      'a file without a type',
      { NumMedia: '1', MediaUrl0: fileUrl },
      { type: 'document', media: media('application/octet-stream') },
    ],
    [
      'the first of several files',
      { ...file('image/jpeg'), NumMedia: '2', MediaUrl1: `${fileUrl}2`, MediaContentType1: 'video/mp4' },
      { type: 'image', media: media('image/jpeg') },
    ],
    [
      'a place',
      { Latitude: '52.5', Longitude: '13.4', Label: 'Zoo', Address: 'Budapester Str. 34' },
      { type: 'location', body: 'Zoo, Budapester Str. 34' },
    ],
    ['a place alone', { Latitude: '52.5', Longitude: '13.4' }, { type: 'location' }],
    ['a button', { Body: 'Yes', ButtonText: 'Yes', ButtonPayload: 'y' }, { type: 'button', body: 'Yes' }],
    ['a choice from a list', { ListId: '2', ListTitle: 'Two' }, { type: 'interactive', body: 'Two' }],
    [
      'a reaction',
      { MessageType: 'reaction', Body: '👍', OriginalRepliedMessageSid: 'SM9' },
      { type: 'reaction', body: '👍', reactionTo: 'SM9' },
    ],
    ['a type of tomorrow', { MessageType: 'hologram' }, { type: 'unsupported' }],
  ])('reads %s, and responds with nothing that would be sent', (_what, fields, expected) => {
    expect(read({ ...written, ...fields })).toEqual({
      receipts: [],
      messages: [{ ...message, ...plain, ...expected }],
    });
  });

  it('identifies a sender by number, or by Meta’s id if known', () => {
    const senderOf = (fields: Record<string, string>) =>
      read({ MessageSid: 'SM2', Body: 'Hi', ...fields }).messages.map(({ sender, from }) => [sender, from]);
    expect(senderOf({ From: '+1' })).toEqual([['+1', '+1']]);
    expect(senderOf({ From: 'whatsapp:+5215512345699' })).toEqual([['+525512345699', '+525512345699']]);
    const [id, ExternalUserId] = ['DE.1349120865530274', 'whatsapp:DE.1349120865530274'];
    expect(senderOf({ From: `whatsapp:${number}`, ExternalUserId })).toEqual([[id, number]]);
    expect(senderOf({ From: ExternalUserId, ExternalUserId })).toEqual([[id, id]]);
    expect(senderOf({})).toEqual([]);
  });

  it('refuses another token, a changed body, another URL and a missing signature', () => {
    const right = twilioRequest(tools.hookUrl, receipt);
    for (const change of [
      { headers: twilioRequest(tools.hookUrl, receipt, 'another').headers },
      { headers: twilioRequest(`${tools.hookUrl}x`, receipt).headers },
      { headers: {} },
      { body: right.body.replace('delivered', 'read') },
      { body: `${right.body}&More=1` },
    ])
      expect(() => read(receipt, change)).toThrow(invalidKey);
  });

  it('refuses a body of very many parameters without parsing it', () => {
    const body = Array.from({ length: 200_000 }, (_, index) => index.toString(36)).join('&');
    const { headers } = twilioRequest(tools.hookUrl, receipt);
    expect(() => read(receipt, { headers, body })).toThrow(invalidKey);
    const many = Object.fromEntries(Array.from({ length: 900 }, (_, index) => [`Field${index}`, 'x']));
    expect(read({ ...receipt, ...many }).receipts).toHaveLength(1);
  });

  it('matches the signature of the example in Twilio’s documentation', () => {
    const body = 'CallSid=CA1234567890ABCDE&Caller=%2B12349013030&Digits=1234&From=%2B12349013030&To=%2B18005551212';
    const call = hookCall({ headers: { 'x-twilio-signature': '0/KCTR6DLpKmkAf8muzZqo1nDgQ=' }, body });
    const url = 'https://mycompany.com/myapp.php';
    const documented = { ...call, rawQuery: '?foo=1&bar=2' };
    expect(provider.readHook!(documented, { ...twilioSettings, auth_token: '12345' }, url)).toEqual({
      receipts: [],
      messages: [],
    });
  });
});

it('settings have the formats that Twilio issues', () => {
  const faultsOf = (given: object) =>
    provider.settings.safeParse({ ...twilioSettings, ...given }).error?.issues.map(({ path }) => path[0]) ?? [];
  expect(faultsOf({})).toEqual([]);
  expect(faultsOf({ account_sid: 'AC1', auth_token: 'a b', from: '030 901820' })).toEqual([
    'account_sid',
    'auth_token',
    'from',
  ]);
  expect(provider.settings.parse({ ...twilioSettings, other: 1 })).toEqual(twilioSettings);
});
