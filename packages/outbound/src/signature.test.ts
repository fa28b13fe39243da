import { createSecretKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { isSigned, signatureHeader, signingKeyOf } from './signature.ts';

it('a signature is the one that the Standard Webhooks specification gives as an example', () => {
  const key = signingKeyOf('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
  const header = signatureHeader('msg_p5jXN8AQM9LWM0D4loKWxJek', 1614265330, '{"test": 2432232314}', [key]);
  expect(header).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
});

describe('signingKeyOf', () => {
  it.each(['', 'whsec_', 'whsec_c2hvcnQ=', 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', `whsec_${'A'.repeat(100)}`])(
    '"%s" is refused',
    (secret) => {
      expect(() => signingKeyOf(secret)).toThrow('a secret must be whsec_ + base64');
    },
  );
});

it('isSigned and the code in docs/webhooks.md accept only what signatureHeader signed', async () => {
  const page = readFileSync(new URL('../../../docs/webhooks.md', import.meta.url), 'utf8');
  const code = /```js\n([\s\S]*?)```/.exec(page)![1]!;
  const shown = (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as {
    isGenuine(headers: Record<string, string>, body: string, secret: string, nowSeconds?: number): boolean;
  };
  const [secret, other] = [1, 2].map((byte) => `whsec_${Buffer.alloc(32, byte).toString('base64')}`) as [
    string,
    string,
  ];
  const [id, at, body] = ['0190a5a4-0000-7000-8000-000000000001', 1_790_000_000, '{"type":"deal.won","data":{"é":1}}'];
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': String(at),
    'webhook-signature': signatureHeader(id, at, body, [signingKeyOf(other), signingKeyOf(secret)]),
  };
  const ours = (given: Record<string, string>, text: string, of: string, nowSeconds: number) =>
    isSigned(given, text, [signingKeyOf(of)], new Date(nowSeconds * 1_000));
  for (const isGenuine of [shown.isGenuine, ours]) {
    expect([isGenuine(headers, body, secret, at), isGenuine(headers, body, other, at + 300)]).toEqual([true, true]);
    expect(isGenuine(headers, `${body} `, secret, at)).toBe(false);
    expect(isGenuine({ ...headers, 'webhook-id': 'x' }, body, secret, at)).toBe(false);
    expect(isGenuine(headers, body, `whsec_${Buffer.alloc(32, 3).toString('base64')}`, at)).toBe(false);
    expect(isGenuine(headers, body, secret, at + 301)).toBe(false);
    expect(isGenuine({}, body, secret, at)).toBe(false);
  }
});

describe('a header of many signatures', () => {
  const key = createSecretKey(Buffer.alloc(32, 1));
  const signed = signatureHeader('evt', 1_790_000_000, '{}', [key]);
  const isAccepted = (signatures: string) => {
    const headers = { 'webhook-id': 'evt', 'webhook-timestamp': '1790000000', 'webhook-signature': signatures };
    return isSigned(headers, '{}', [key], new Date(1_790_000_000_000));
  };
  it.each([
    [999, true],
    [1_000, true],
    [1_001, false],
    [15_000, false],
  ])('of %i characters with the right one is accepted: %s', (length, accepted) => {
    const others = ' '.repeat(length - signed.length);
    expect([isAccepted(others + signed), isAccepted(signed)]).toEqual([accepted, true]);
  });
});
