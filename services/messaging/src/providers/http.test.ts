import { isSigned, newSigningSecret, signingKeyOf } from '@customer-platform/outbound';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type HttpProvider, startHttpProvider } from '../../test/messaging.ts';
import { hookCall, httpRequest, httpSecret, outgoing, providerTools } from '../../test/provider-servers.ts';
import { provider } from './http.ts';

const tools = providerTools();
let server: HttpProvider;
let accept: HttpProvider['respond'];
beforeAll(async () => {
  server = await startHttpProvider();
  accept = server.respond;
});
beforeEach(() => {
  server.received.length = 0;
  server.respond = accept;
});
afterAll(async () => {
  await tools.close();
  await server.stop();
});

const send = (given = {}, settings = {}) =>
  provider.send(outgoing(given), { url: `${server.url}/send`, secret: server.secret, ...settings }, tools);

describe('sending', () => {
  it('posts a message signed like webhooks, and takes the id from the response', async () => {
    const message = outgoing({ channel: 'email', to: 'ada@example.com', subject: 'Hello' });
    server.respond = (_request, response) => response.writeHead(202).end('{"id":42}');
    expect(await send(message)).toEqual({ outcome: 'accepted', providerId: '42' });
    const [{ method, path, headers, body }] = server.received as [HttpProvider['received'][0]];
    const { messageId, attemptId, ...rest } = message;
    expect([method, path, JSON.parse(body)]).toEqual([
      'POST',
      '/send',
      { message: messageId, attempt: attemptId, ...rest },
    ]);
    const expected = { 'content-type': 'application/json', 'user-agent': 'customer-platform-messages/1.0' };
    expect(headers).toMatchObject({ ...expected, 'webhook-id': attemptId });
    const isGenuine = (secret: string) => isSigned(headers, body, [signingKeyOf(secret)], new Date());
    expect([isGenuine(server.secret), isGenuine(newSigningSecret())]).toEqual([true, false]);
  });

  it('sends the id of the attempt in every call', async () => {
    server.respond = (_request, response) => response.writeHead(503, { 'retry-after': '2' }).end();
    const message = 'The provider responded with 503';
    expect(await send()).toEqual({ outcome: 'unavailable', message, retryAfterMs: 2000 });
    server.respond = accept;
    expect((await send()).outcome).toBe('accepted');
    const { attemptId } = outgoing();
    expect(server.received.map(({ headers }) => headers['webhook-id'])).toEqual([attemptId, attemptId]);
  });

  it('quotes a refusal, without the secret', async () => {
    for (const [status, outcome, body, said] of [
      [422, 'rejected', { message: `no route for ${server.secret}` }, 'no route for [secret]'],
      [400, 'rejected', { error: 'no such number' }, 'no such number'],
      [401, 'refused', { error: { message: 'The signature is wrong' } }, 'The signature is wrong'],
    ] as const) {
      server.respond = (_request, response) => response.writeHead(status).end(JSON.stringify(body));
      expect(await send()).toEqual({ outcome, message: `The provider responded with ${status}: ${said}` });
    }
  });

  it.each<[string, HttpProvider['respond']]>([
    ['the connection is lost', (_request, response) => response.socket!.resetAndDestroy()],
    ['nothing comes', () => undefined],
    ['too much comes', (_request, response) => response.writeHead(200).end('x'.repeat(70_000))],
  ])('is unknown, and sent once, where %s', async (_what, respond) => {
    server.respond = respond;
    expect((await send()).outcome).toBe('unknown');
    expect(server.received).toHaveLength(1);
  });

  it('is unavailable if nothing listens, and rejected for a forbidden address', async () => {
    const gone = await startHttpProvider();
    await gone.stop();
    expect(await send({}, { url: gone.url })).toEqual({
      outcome: 'unavailable',
      message: 'The provider could not be reached',
    });
    expect(await send({}, { url: 'https://10.1.2.3/' })).toEqual({
      outcome: 'rejected',
      message: 'The provider is at a blocked address',
    });
  });
});

describe('the hook', () => {
  const now = new Date('2026-11-20T09:00:00Z');
  const receipt = { type: 'receipt', id: 'p1', status: 'delivered', at: '2026-11-20T09:59:58+01:00' };
  const inbound = { type: 'inbound', from: '+4915112345678', name: 'Ada', body: 'Hi', id: 'in1', at: receipt.at };
  const at = new Date('2026-11-20T08:59:58Z');
  const read = (request: ReturnType<typeof httpRequest>) =>
    provider.readHook!(hookCall(request, now), { url: '', secret: httpSecret }, tools.hookUrl);
  it('reads receipts and inbound messages', () => {
    expect(read(httpRequest(receipt, now))).toEqual({
      receipts: [{ providerId: 'p1', status: 'delivered', at }],
      messages: [],
    });
    const { type: _, id, ...rest } = inbound;
    const plain = { sender: rest.from, type: 'text', media: null, reactionTo: null };
    expect(read(httpRequest(inbound, now))).toEqual({
      receipts: [],
      messages: [{ ...rest, ...plain, providerId: id, at }],
    });
    expect(read(httpRequest({ ...inbound, name: null }, now)).messages[0]?.name).toBe('');
  });

  const readOne = (given: object) => read(httpRequest({ ...inbound, ...given }, now)).messages[0];
  const media = { mime_type: 'application/pdf', provider_id: 'https://files.example/7' };

  it('reads the type, file and reaction target of inbound messages', () => {
    expect(readOne({ type: 'image', body: 'This one', media: { ...media, file_name: 'a.jpg' } })).toMatchObject({
      type: 'image',
      body: 'This one',
      media: { ...media, file_name: 'a.jpg' },
    });
    expect(readOne({ body: undefined, media })).toMatchObject({
      type: 'document',
      body: '',
      media: { ...media, file_name: null },
    });
    const reaction = { type: 'reaction', body: '👍', reaction_to: 'p1' };
    expect(readOne(reaction)).toMatchObject({ type: 'reaction', body: '👍', reactionTo: 'p1' });
    expect(readOne({ type: 'unsupported', body: undefined, reaction_to: 'p1' })).toMatchObject({
      type: 'unsupported',
      body: '',
      reactionTo: null,
    });
  });

  it('identifies a sender by the provider’s own id, with or without an address', () => {
    expect(readOne({ user_id: 'u-1' })).toMatchObject({ sender: 'u-1', from: inbound.from });
    expect(readOne({ user_id: 'u-1', from: undefined })).toMatchObject({ sender: 'u-1', from: 'u-1' });
    expect(readOne({ from: '+52 1 55 1234 5699' })).toMatchObject({ sender: '+525512345699', from: '+525512345699' });
  });

  it.each([
    ['type', { type: 'hologram' }],
    ['media', { media: 'https://files.example/7' }],
    ['media', { media: { mime_type: 'application/pdf' } }],
    ['media', { media: { ...media, file_name: 'x'.repeat(256) } }],
    ['reaction_to', { type: 'reaction', reaction_to: '' }],
    ['reaction_to', { reaction_to: {} }],
    ['user_id', { user_id: '' }],
    ['user_id', { user_id: 'x'.repeat(255) }],
    ['from', { from: undefined }],
    ['body', { body: undefined }],
  ])('refuses a wrong %s and names it: %j', (field, given) => {
    expect(() => readOne(given)).toThrow(expect.objectContaining({ code: 'invalid_request', field }));
  });

  it('accepts a number as id and keeps every digit', () => {
    const json = JSON.stringify({ ...receipt, id: 0 }).replace('"id":0', '"id":12345678901234567890');
    expect(read(httpRequest(json, now)).receipts[0]?.providerId).toBe('12345678901234567890');
  });

  it('refuses a body with too many values, whatever its strings contain', () => {
    expect(read(httpRequest({ ...inbound, body: '"[{,'.repeat(20_000) }, now)).messages).toHaveLength(1);
    expect(read(httpRequest({ ...inbound, more: Array(49_000).fill(0) }, now)).messages).toHaveLength(1);
    const refusal = expect.objectContaining({ code: 'invalid_request', field: 'body' });
    for (const value of [0, {}, []])
      expect(() => read(httpRequest({ ...inbound, more: Array(50_000).fill(value) }, now))).toThrow(refusal);
  });
});
