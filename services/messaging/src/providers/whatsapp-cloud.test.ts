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

  it('goes to Meta’s id of a user without a number', async () => {
    expect((await send({ to: 'DE.1349120865530274' })).outcome).toBe('accepted');
    expect(server.taken[0]?.fields).toMatchObject({ recipient: 'DE.1349120865530274' });
    expect(server.taken[0]?.fields).not.toHaveProperty('to');
  });

  it('is rejected with the text of Meta, without the token that it repeats', async () => {
    expect(await send({}, { access_token: 'EAAG-wrong' })).toEqual({
      outcome: 'refused',
      message: 'WhatsApp responded with 401: Malformed access token [secret] (190)',
    });
    server.responses.push({ status: 400, body: { error: { message: 'no', code: 100, error_subcode: 33 } } });
    expect(await send()).toEqual({ outcome: 'rejected', message: 'WhatsApp responded with 400: no (100/33)' });
  });

  it('is unavailable for temporary errors, whatever their status', async () => {
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

  it('is unknown without an id or a response', async () => {
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

  it('reads every receipt, however old, and skips unknown entries', () => {
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

  const from = '4915112345678';
  const readOne = (content: object, contacts: object[] = [{ wa_id: from, profile: { name: 'Ada' } }]) =>
    read({ contacts, messages: [{ from, id: 'wamid.in', timestamp, ...content }] }).messages;
  const file = { id: '1003383421387256', mime_type: 'image/jpeg', sha256: 'x' };
  const media = { mime_type: 'image/jpeg', file_name: null, provider_id: file.id };

  it.each<[string, object, object]>([
    ['a text', { type: 'text', text: { body: 'Hi\0' } }, { type: 'text', body: 'Hi' }],
    ['a text of another shape', { type: 'text', text: 'not an object' }, { type: 'text', body: '' }],
    [
      'an image with a caption',
      { type: 'image', image: { ...file, caption: 'How much is this one?' } },
      { type: 'image', body: 'How much is this one?', media },
    ],
    ['an image without one', { type: 'image', image: file }, { type: 'image', body: '', media }],
    [
      'an image without its id',
      { type: 'image', image: { caption: 'This' } },
      { type: 'image', body: '', media: null },
    ],
    [
      'a video',
      { type: 'video', video: { ...file, mime_type: 'video/mp4', caption: 'Look' } },
      { type: 'video', body: 'Look', media: { ...media, mime_type: 'video/mp4' } },
    ],
    [
      'a voice message',
      { type: 'audio', audio: { ...file, mime_type: 'audio/ogg; codecs=opus', voice: true } },
      { type: 'audio', body: '', media: { ...media, mime_type: 'audio/ogg; codecs=opus' } },
    ],
    [
      'a document',
      { type: 'document', document: { id: file.id, filename: 'order.pdf', caption: 'My order' } },
      {
        type: 'document',
        body: 'My order',
        media: { ...media, mime_type: 'application/octet-stream', file_name: 'order.pdf' },
      },
    ],
    [
      'a sticker',
      { type: 'sticker', sticker: { ...file, mime_type: 'image/webp', animated: false } },
      { type: 'sticker', body: '', media: { ...media, mime_type: 'image/webp' } },
    ],
    [
      'a place with its name and address',
      { type: 'location', location: { latitude: 52.5, longitude: 13.4, name: 'Zoo', address: 'Budapester Str. 34' } },
      { type: 'location', body: 'Zoo, Budapester Str. 34' },
    ],
    ['a place alone', { type: 'location', location: { latitude: 1, longitude: 2 } }, { type: 'location', body: '' }],
    ['a card', { type: 'contacts', contacts: [{ name: { formatted_name: 'Bo' } }] }, { type: 'contacts', body: '' }],
    [
      'an order',
      { type: 'order', order: { catalog_id: '1', text: 'Before noon please', product_items: [{ quantity: 2 }] } },
      { type: 'order', body: 'Before noon please' },
    ],
    ['a button', { type: 'button', button: { text: 'Yes', payload: 'y' } }, { type: 'button', body: 'Yes' }],
    [
      'a reply by button',
      { type: 'interactive', interactive: { type: 'button_reply', button_reply: { id: '1', title: 'One' } } },
      { type: 'interactive', body: 'One' },
    ],
    [
      'a choice from a list',
      { type: 'interactive', interactive: { type: 'list_reply', list_reply: { id: '2', title: 'Two' } } },
      { type: 'interactive', body: 'Two' },
    ],
    [
      'a form',
      { type: 'interactive', interactive: { type: 'nfm_reply', nfm_reply: { name: 'flow', body: 'Sent' } } },
      { type: 'interactive', body: 'Sent' },
    ],
    [
      'a reaction',
      { type: 'reaction', reaction: { message_id: 'wamid.out', emoji: '👍' } },
      { type: 'reaction', body: '👍', reactionTo: 'wamid.out' },
    ],
    [
      'a removed reaction',
      { type: 'reaction', reaction: { message_id: 'wamid.out' } },
      { type: 'reaction', body: '', reactionTo: 'wamid.out' },
    ],
    [
      'a message that WhatsApp does not forward',
      { type: 'unsupported', errors: [{ code: 131051, title: 'Message type unknown' }] },
      { type: 'unsupported', body: '' },
    ],
    ['a type of tomorrow', { type: 'hologram', hologram: { body: 'x' } }, { type: 'unsupported', body: '' }],
    ['a type that is none', { type: { toString: 1 } }, { type: 'unsupported', body: '' }],
  ])('reads %s', (_what, content, expected) => {
    const sent = { providerId: 'wamid.in', sender: `+${from}`, from: `+${from}`, name: 'Ada', at };
    expect(readOne(content)).toEqual([{ ...sent, media: null, reactionTo: null, ...expected }]);
  });

  it.each<[string, object, object[], object]>([
    [
      'a number with Meta’s id',
      { from_user_id: 'DE.1349120865530274' },
      [{ wa_id: from, user_id: 'DE.1349120865530274', profile: { name: 'Ada' } }],
      { sender: 'DE.1349120865530274', from: `+${from}`, name: 'Ada' },
    ],
    [
      'Meta’s id of the contact with the number',
      {},
      [
        { wa_id: '4915100000000', user_id: 'DE.2', profile: { name: 'Bo' } },
        { wa_id: from, user_id: 'DE.1', profile: { name: 'Ada' } },
      ],
      { sender: 'DE.1', from: `+${from}`, name: 'Ada' },
    ],
    [
      'Meta’s id alone',
      { from: undefined, from_user_id: 'DE.1' },
      [
        { user_id: 'DE.2', profile: { name: 'Bo' } },
        { user_id: 'DE.1', profile: { name: 'Ada', username: 'ada' } },
      ],
      { sender: 'DE.1', from: 'DE.1', name: 'Ada' },
    ],
    [
      'Meta’s id of the only contact',
      { from: undefined },
      [{ user_id: 'DE.1349120865530274', profile: {} }],
      { sender: 'DE.1349120865530274', from: 'DE.1349120865530274', name: '' },
    ],
    ['Meta’s id in place of a number', { from: 'DE.1' }, [], { sender: 'DE.1', from: 'DE.1', name: '' }],
    ['a number alone', {}, [], { sender: `+${from}`, from: `+${from}`, name: '' }],
    [
      'a number of Mexico as WhatsApp writes it',
      { from: '5215512345699' },
      [{ wa_id: '5215512345699', profile: { name: 'Lupe' } }],
      { sender: '+525512345699', from: '+525512345699', name: 'Lupe' },
    ],
    [
      'a number of Brazil without its ninth digit',
      { from: '551187654321' },
      [],
      { sender: '+5511987654321', from: '+5511987654321' },
    ],
    ['a number that no plan has', { from: '15005550006' }, [], { sender: '+15005550006', from: '+15005550006' }],
  ])('names the sender of a message with %s', (_what, content, contacts, expected) => {
    expect(readOne({ type: 'text', text: { body: 'Hi' }, ...content }, contacts)).toMatchObject([expected]);
  });

  it('ignores notices of WhatsApp', () => {
    const system = { type: 'system', system: { body: 'Ada changed from A to B', type: 'user_changed_number' } };
    expect(readOne(system)).toEqual([]);
    const two = [{ user_id: 'DE.1' }, { user_id: 'DE.2' }];
    for (const contacts of [[], two]) {
      expect(readOne({ from: undefined, type: 'text', text: { body: 'Hi' } }, contacts)).toEqual([]);
      expect(readOne({ from: 'nobody', from_user_id: 'nobody', type: 'unsupported' }, contacts)).toEqual([]);
    }
  });

  it('accepts a thousand entries in one request, the maximum of Meta, and refuses more', () => {
    const statuses = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ id: `wamid.${index}`, status: 'read', timestamp: '1' }));
    const readMany = (count: number) =>
      provider.readHook!(hookCall(graphRequest({ statuses: statuses(count) })), whatsappSettings, tools.hookUrl);
    expect(readMany(1_000).receipts).toHaveLength(1_000);
    const tooMany = expect.objectContaining({ code: 'invalid_request', field: 'body' });
    expect(() => readMany(1_001)).toThrow(tooMany);
    // Also if none of them fits, because each of those takes longer to parse.
    for (const name of ['statuses', 'messages', 'contacts']) {
      expect(read({ [name]: Array(1_000).fill({}) })).toEqual(nothing);
      expect(() => read({ [name]: Array(1_001).fill({}) })).toThrow(tooMany);
    }
  });

  it('ignores other notifications', () => {
    for (const value of [{}, null, 'text', { statuses: {} }, { messages: [{ from: 'nobody', id: '1' }] }])
      expect(read(value)).toEqual(nothing);
  });

  it('refuses another secret, a changed body and a missing signature', () => {
    const value = { statuses: [{ id: 'wamid.1', status: 'sent', timestamp }] };
    const wrong = expect.objectContaining({ code: 'invalid_key' });
    expect(() => read(value, graphRequest(value, 'another'))).toThrow(wrong);
    expect(() => read(value, { body: graphRequest(value).body.replace('sent', 'read') })).toThrow(wrong);
    expect(() => read(value, { headers: {} })).toThrow(wrong);
    expect(read(value).receipts).toHaveLength(1);
  });

  it('responds to a challenge with the verify token', () => {
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

it('settings are all required, and are valid in a header', () => {
  expect(provider.settings.parse({ ...whatsappSettings, other: 1 })).toEqual(whatsappSettings);
  const faults = provider.settings.safeParse({ phone_number_id: '+1', access_token: 'a\nb' }).error?.issues;
  expect(faults?.map(({ path }) => path[0])).toEqual(['phone_number_id', 'access_token', 'app_secret', 'verify_token']);
});
