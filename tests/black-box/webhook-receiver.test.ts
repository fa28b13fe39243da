import { afterEach, describe, expect, it } from '@jest/globals';
import { type Received, type Receiver, startReceiver, whyForged } from './webhook-receiver.ts';

/** Example of the Standard Webhooks specification. */
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const sentAtMs = 1_614_265_330_000;
const signature = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';

function delivery(changes: Record<string, string | undefined> = {}, body = '{"test": 2432232314}'): Received {
  const headers = {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': signature,
  };
  return { path: '/hook', headers: { ...headers, ...changes }, body };
}

describe('the signature check', () => {
  it('takes a genuine delivery', () => {
    expect(whyForged(delivery(), secret, sentAtMs)).toBeNull();
  });

  it('takes a delivery that two secrets sign, whichever is known', () => {
    const both = delivery({ 'webhook-signature': `v1,${Buffer.alloc(32).toString('base64')} ${signature}` });
    expect(whyForged(both, secret, sentAtMs)).toBeNull();
  });

  it.each([
    ['a changed body', delivery({}, '{"test": 2432232315}'), secret],
    ['a changed id', delivery({ 'webhook-id': 'msg_other' }), secret],
    ['another secret', delivery(), `whsec_${Buffer.alloc(24, 1).toString('base64')}`],
    ['another version of signature', delivery({ 'webhook-signature': signature.replace('v1', 'v2') }), secret],
    ['a signature that is not one', delivery({ 'webhook-signature': 'v1' }), secret],
  ])('refuses %s', (_what, changed, key) => {
    expect(whyForged(changed, key, sentAtMs)).toMatch(/^no signature .* matches/);
  });

  it('refuses a delivery that lacks a header', () => {
    expect(whyForged(delivery({ 'webhook-signature': undefined }), secret, sentAtMs)).toMatch(/missing/);
  });

  it('refuses a delivery from more than five minutes ago or ahead, and takes one from exactly five', () => {
    expect(whyForged(delivery(), secret, sentAtMs + 300_000)).toBeNull();
    expect(whyForged(delivery(), secret, sentAtMs + 301_000)).toMatch(/301 s off/);
    expect(whyForged(delivery(), secret, sentAtMs - 301_000)).toMatch(/301 s off/);
  });
});

describe('the receiver', () => {
  let receiver: Receiver | undefined;
  afterEach(() => receiver?.close());

  it('keeps what it is sent and answers 200', async () => {
    receiver = await startReceiver('127.0.0.1');
    const response = await fetch(`http://127.0.0.1:${receiver.port}/hook`, {
      method: 'POST',
      headers: { 'webhook-id': 'one' },
      body: 'grüße',
    });
    expect([response.status, await response.text()]).toEqual([200, 'thank you']);
    expect(receiver.received).toEqual([
      { path: '/hook', headers: expect.objectContaining({ 'webhook-id': 'one' }), body: 'grüße' },
    ]);
  });
});
