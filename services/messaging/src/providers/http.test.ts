import { ApiError } from '@customer-platform/contracts/core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  hookCall,
  httpRequest,
  httpSecret,
  outgoing,
  type ProviderServer,
  providerTools,
  startHttpProviderServer,
} from '../../test/provider-servers.ts';
import { provider } from './http.ts';

let server: ProviderServer;
let tools: ReturnType<typeof providerTools>;
beforeAll(async () => {
  server = await startHttpProviderServer();
  tools = providerTools();
});
afterEach(() => {
  server.taken.length = 0;
  server.responses.length = 0;
});
afterAll(async () => {
  await tools.close();
  await server.stop();
});

const send = (given = {}, settings = {}) =>
  provider.send(outgoing(given), { url: `${server.url}/send`, secret: httpSecret, ...settings }, tools);

describe('sending', () => {
  it('posts a message signed as webhooks are, and takes the id of the response', async () => {
    const message = outgoing({ channel: 'email', to: 'ada@example.com', subject: 'Hello' });
    server.responses.push({ status: 202, body: { id: 42 } });
    expect(await send(message)).toEqual({ outcome: 'accepted', providerId: '42' });
    const { messageId, attemptId, ...rest } = message;
    expect(server.taken[0]?.fields).toEqual({ message: messageId, attempt: attemptId, ...rest });
    expect(server.taken[0]?.headers).toMatchObject({
      'user-agent': 'customer-platform-messages/1.0',
      'webhook-id': attemptId,
    });
  });

  it('has the id of its attempt in every try', async () => {
    server.responses.push({ status: 503, headers: { 'retry-after': '2' } });
    expect(await send()).toEqual({
      outcome: 'unavailable',
      message: 'The provider responded with 503',
      retryAfterMs: 2000,
    });
    expect((await send()).outcome).toBe('accepted');
    const [first, second] = server.taken.map(({ headers }) => headers['webhook-id']);
    expect(first).toBe(outgoing().attemptId);
    expect(second).toBe(first);
  });

  it('is rejected where the receiver refuses the signature', async () => {
    const other = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    expect(await send({}, { secret: other })).toEqual({
      outcome: 'rejected',
      message: 'The provider responded with 401: The signature is wrong',
    });
    expect(server.taken).toEqual([]);
  });

  it('says what a refusal says, and never the secret', async () => {
    server.responses.push({ status: 422, body: { message: `no route for ${httpSecret}` } });
    expect(await send()).toEqual({
      outcome: 'rejected',
      message: 'The provider responded with 422: no route for [secret]',
    });
    server.responses.push({ status: 400, body: { error: 'no such number' } });
    expect(await send()).toEqual({ outcome: 'rejected', message: 'The provider responded with 400: no such number' });
  });

  it('is unknown, and sent once, where the connection is lost, nothing comes, or too much', async () => {
    for (const response of [
      { fault: 'reset' },
      { fault: 'hang' },
      { status: 200, body: 'x'.repeat(70_000) },
    ] as const) {
      server.taken.length = 0;
      server.responses.push(response);
      expect((await send()).outcome).toBe('unknown');
      expect(server.taken).toHaveLength(1);
    }
  });

  it('is unavailable where nobody listens, and rejected where the address must not be called', async () => {
    const gone = await startHttpProviderServer();
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

describe('settings', () => {
  const call = () => ({ guard: tools.guard, prefetch: () => undefined });

  it('get a secret that is right where none is given, and keep one that is', () => {
    const made = provider.prepare!({ url: 'https://127.0.0.1/' }, call());
    expect(provider.settings.safeParse(made).data).toEqual(made);
    expect(made.secret).toMatch(/^whsec_/);
    expect(provider.prepare!({ url: 'https://127.0.0.1/', secret: httpSecret }, call()).secret).toBe(httpSecret);
  });

  it('have a secret of the right size, and an address that may be called', () => {
    const issue = provider.settings.safeParse({ url: '', secret: 'whsec_c2hvcnQ=' }).error?.issues[0];
    expect(issue).toMatchObject({ path: ['secret'], message: 'must be whsec_ + base64 of 24 to 64 bytes' });
    expect(() => provider.prepare!({ url: 'https://10.0.0.1/' }, call())).toThrow(
      /^settings\.url leads to 10\.0\.0\.1/,
    );
  });
});

describe('the hook', () => {
  const now = new Date('2026-11-20T09:00:00Z');
  const receipt = { type: 'receipt', id: 'p1', status: 'delivered', at: '2026-11-20T09:59:58+01:00' };
  const inbound = { type: 'inbound', from: '+4915112345678', name: 'Ada', body: 'Hi', id: 'in1', at: receipt.at };
  const at = new Date('2026-11-20T08:59:58Z');
  const read = (request: ReturnType<typeof httpRequest>) =>
    provider.readHook!(hookCall(request, now), { url: '', secret: httpSecret }, tools.hookUrl);
  const refusalOf = (request: ReturnType<typeof httpRequest>) => {
    try {
      read(request);
    } catch (error) {
      if (error instanceof ApiError) return `${error.code} ${error.field ?? ''}`.trim();
      throw error;
    }
    return 'taken';
  };

  it('reads receipts and what customers wrote', () => {
    expect(read(httpRequest(receipt, now))).toEqual({
      receipts: [{ providerId: 'p1', status: 'delivered', at }],
      messages: [],
    });
    const { type: _, id, ...rest } = inbound;
    expect(read(httpRequest(inbound, now))).toEqual({ receipts: [], messages: [{ ...rest, providerId: id, at }] });
    expect(read(httpRequest({ ...inbound, name: null }, now)).messages[0]?.name).toBe('');
  });

  it('takes a number for an id with every digit of it', () => {
    const json = JSON.stringify({ ...receipt, id: 0 }).replace('"id":0', '"id":12345678901234567890');
    expect(read(httpRequest(json, now)).receipts[0]?.providerId).toBe('12345678901234567890');
  });

  it('refuses a body of more values than it looks at, whatever its texts are', () => {
    expect(refusalOf(httpRequest({ ...inbound, body: '"[{,'.repeat(20_000) }, now))).toBe('taken');
    expect(refusalOf(httpRequest({ ...inbound, more: Array(49_000).fill(0) }, now))).toBe('taken');
    for (const value of [0, {}, []])
      expect(refusalOf(httpRequest({ ...inbound, more: Array(50_000).fill(value) }, now))).toBe('invalid_request body');
  });

  it('refuses another secret, a changed body, no signature and what is more than five minutes off', () => {
    const other = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    const right = httpRequest(receipt, now);
    expect(refusalOf(httpRequest(receipt, now, other))).toBe('invalid_key');
    expect(refusalOf({ ...right, body: right.body.replace('p1', 'p2') })).toBe('invalid_key');
    expect(refusalOf({ ...right, headers: { ...right.headers, 'webhook-signature': '' } })).toBe('invalid_key');
    expect(refusalOf(httpRequest(receipt, new Date(now.getTime() - 301_000)))).toBe('invalid_key');
    expect(refusalOf(httpRequest(receipt, new Date(now.getTime() + 301_000)))).toBe('invalid_key');
    expect(refusalOf(httpRequest(receipt, new Date(now.getTime() - 299_000)))).toBe('taken');
  });

  it('names the field at fault', () => {
    const bad: [unknown, string][] = [
      ['[]', 'body'],
      ['{', 'body'],
      [{ ...receipt, type: 'other' }, 'type'],
      [{ ...receipt, type: undefined }, 'type'],
      [{ ...receipt, id: '' }, 'id'],
      [{ ...receipt, id: 'a\0' }, 'id'],
      [{ ...receipt, status: 'seen' }, 'status'],
      [{ ...receipt, permanent: 'yes' }, 'permanent'],
      [{ ...receipt, at: '2026-11-20T09:00:00' }, 'at'],
      [{ ...inbound, from: '' }, 'from'],
      [{ ...inbound, body: undefined }, 'body'],
      [{ ...inbound, name: 1 }, 'name'],
    ];
    for (const [content, field] of bad) {
      expect(refusalOf(httpRequest(content, now))).toBe(`invalid_request ${field}`);
    }
  });
});
