import { describe, expect, it } from '@jest/globals';
import {
  graphRequest,
  hookCall,
  outgoing,
  providerTools,
  startGraphServer,
  useInTests,
  whatsappSettings,
} from '../../test/provider-servers.ts';
import { provider } from './whatsapp-cloud.ts';

const server = await startGraphServer();
const tools = providerTools({ whatsappUrl: server.url });
useInTests(server, tools);

const send = (given = {}, settings = {}) =>
  provider.send(outgoing({ channel: 'whatsapp', ...given }), { ...whatsappSettings, ...settings }, tools);

describe('sending', () => {
  it('posts a text with the id of its attempt, and takes its id', async () => {
    expect(await send()).toEqual({ outcome: 'accepted', providerId: expect.stringMatching(/^wamid\./) });
    expect(server.taken[0]?.fields).toEqual({
      messaging_product: 'whatsapp',
      recipient_type: 'individual',
      to: '4915112345678',
      type: 'text',
      text: { body: outgoing().body, preview_url: false },
      biz_opaque_callback_data: outgoing().attemptId,
    });
  });

  it('is rejected with what Meta says, and without the token that it repeats', async () => {
    expect(await send({}, { access_token: 'EAAG-wrong' })).toEqual({
      outcome: 'refused',
      message: 'WhatsApp responded with 401: Malformed access token [secret] (190)',
    });
    server.responses.push({ status: 400, body: { error: { message: 'no', code: 100, error_subcode: 33 } } });
    expect(await send()).toEqual({ outcome: 'rejected', message: 'WhatsApp responded with 400: no (100/33)' });
  });

  it('is unavailable for what passes by itself, whatever its status', async () => {
    for (const code of [4, 80007, 130429, 131056, 131016, 131000]) {
      server.responses.push({ status: 400, body: { error: { message: 'later', code } } });
      expect(await send()).toEqual({ outcome: 'unavailable', message: `WhatsApp responded with 400: later (${code})` });
    }
    server.responses.push({ status: 400, body: { error: { message: 'later', code: 2, is_transient: true } } });
    expect((await send()).outcome).toBe('unavailable');
    server.responses.push({ status: 400, body: { error: { message: 'never', code: 2, is_transient: false } } });
    expect((await send()).outcome).toBe('rejected');
    server.responses.push({ status: 500, body: '' });
    expect((await send()).outcome).toBe('unavailable');
  });

  it('is unknown where no id comes, or nothing', async () => {
    server.responses.push({ status: 200, body: { messages: [] } }, { fault: 'reset' }, { fault: 'hang' });
    for (const _ of server.responses.slice()) expect((await send()).outcome).toBe('unknown');
    expect(server.taken).toHaveLength(3);
  });
});

describe('the hook', () => {
  const now = new Date('2026-11-20T09:00:00Z');
  const nothing = { receipts: [], messages: [] };
  const read = (value: unknown, change: Partial<Parameters<typeof hookCall>[0]> = {}) =>
    provider.readHook!(hookCall({ ...graphRequest(value), ...change }, now), whatsappSettings, tools.hookUrl);
  const at = new Date('2025-01-01T00:00:00Z');
  const timestamp = String(at.getTime() / 1000);

  it('reads every receipt, however old, and leaves out what it does not know', () => {
    const statuses = ['sent', 'delivered', 'read', 'failed', 'deleted'].map((status) => ({
      id: `wamid.${status}`,
      status,
      timestamp,
      recipient_id: '4915112345678',
    }));
    expect(read({ statuses: [...statuses, null, { id: 1 }] })).toEqual({
      messages: [],
      receipts: ['sent', 'delivered', 'read', 'failed'].map((status) => {
        return { providerId: `wamid.${status}`, status, at };
      }),
    });
    expect(read({ statuses: [{ ...statuses[0], timestamp: 'soon' }] }).receipts[0]?.at).toEqual(now);
  });

  it('reads what customers wrote and pressed, and who they are', () => {
    const from = '4915112345678';
    const message = (content: object) => ({ from, id: 'wamid.in', timestamp, ...content });
    const contents: [object, string][] = [
      [{ type: 'text', text: { body: 'Hi\0' } }, 'Hi'],
      [{ type: 'button', button: { text: 'Yes', payload: 'y' } }, 'Yes'],
      [{ type: 'interactive', interactive: { type: 'button_reply', button_reply: { id: '1', title: 'One' } } }, 'One'],
      [{ type: 'interactive', interactive: { type: 'list_reply', list_reply: { id: '2', title: 'Two' } } }, 'Two'],
      [{ type: 'image', image: { id: '3' } }, ''],
      [{ type: 'text', text: 'not an object' }, ''],
    ];
    const contacts = [{ wa_id: from, profile: { name: 'Ada' } }];
    const { messages } = read({ contacts, messages: contents.map(([content]) => message(content)) });
    const expected = { providerId: 'wamid.in', from: `+${from}`, name: 'Ada', at };
    expect(messages).toEqual(contents.map(([, body]) => ({ ...expected, body })));
    expect(read({ messages: [message({ type: 'text', text: { body: 'Hi' } })] }).messages[0]?.name).toBe('');
  });

  it('takes a thousand entries in one request, as Meta sends at most, and refuses more', () => {
    const statuses = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ id: `wamid.${index}`, status: 'read', timestamp: '1' }));
    const readMany = (count: number) =>
      provider.readHook!(hookCall(graphRequest({ statuses: statuses(count) })), whatsappSettings, tools.hookUrl);
    expect(readMany(1_000).receipts).toHaveLength(1_000);
    const tooMany = expect.objectContaining({ code: 'invalid_request', field: 'body' });
    expect(() => readMany(1_001)).toThrow(tooMany);
    // Also where none of them fits: each of those takes longer than one that does.
    for (const name of ['statuses', 'messages', 'contacts']) {
      expect(read({ [name]: Array(1_000).fill({}) })).toEqual(nothing);
      expect(() => read({ [name]: Array(1_001).fill({}) })).toThrow(tooMany);
    }
  });

  it('takes other notifications for nothing', () => {
    for (const value of [{}, null, 'text', { statuses: {} }, { messages: [{ from: 'nobody', id: '1' }] }])
      expect(read(value)).toEqual(nothing);
  });

  it('refuses another secret, a changed body and no signature', () => {
    const value = { statuses: [{ id: 'wamid.1', status: 'sent', timestamp }] };
    const wrong = expect.objectContaining({ code: 'invalid_key' });
    expect(() => read(value, graphRequest(value, 'another'))).toThrow(wrong);
    expect(() => read(value, { body: graphRequest(value).body.replace('sent', 'read') })).toThrow(wrong);
    expect(() => read(value, { headers: {} })).toThrow(wrong);
    expect(read(value).receipts).toHaveLength(1);
  });

  it('responds to the challenge of whoever knows the verify token', () => {
    const ask = (query: Record<string, string>) =>
      provider.readHook!(
        { ...hookCall({ headers: {}, body: '' }, now), method: 'GET', query: new URLSearchParams(query) },
        whatsappSettings,
        tools.hookUrl,
      );
    const right = { 'hub.mode': 'subscribe', 'hub.verify_token': 'verify-token', 'hub.challenge': '1158201444' };
    expect(ask(right)).toEqual({ ...nothing, response: '1158201444' });
    const wrong = expect.objectContaining({ code: 'invalid_key' });
    expect(() => ask({ ...right, 'hub.verify_token': 'verify' })).toThrow(wrong);
    expect(() => ask({ ...right, 'hub.mode': 'unsubscribe' })).toThrow(wrong);
    expect(() => ask({})).toThrow(wrong);
  });
});

it('settings are all asked for, and can stand in a header', () => {
  expect(provider.settings.parse({ ...whatsappSettings, other: 1 })).toEqual(whatsappSettings);
  const faults = provider.settings.safeParse({ phone_number_id: '+1', access_token: 'a\nb' }).error?.issues;
  expect(faults?.map(({ path }) => path[0])).toEqual(['phone_number_id', 'access_token', 'app_secret', 'verify_token']);
});
