import { createHmac } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { signatureHeader, signingKeyOf } from './signature.ts';

describe('signatureHeader', () => {
  it('is the one that the Standard Webhooks specification gives as an example', () => {
    const key = signingKeyOf('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
    const header = signatureHeader('msg_p5jXN8AQM9LWM0D4loKWxJek', 1614265330, '{"test": 2432232314}', [key]);
    expect(header).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
  });

  it('carries one signature for each secret, newest first, over the exact bytes', () => {
    const keys = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
    const body = Buffer.from('{"name":"Zoë ☎"}');
    const expected = keys.map((key) => {
      const signed = Buffer.concat([Buffer.from('evt.1700000000.'), body]);
      return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
    });
    expect(signatureHeader('evt', 1700000000, body, keys)).toBe(expected.join(' '));
    expect(signatureHeader('evt', 1700000000, body.toString(), keys)).toBe(expected.join(' '));
  });
});

describe('signingKeyOf', () => {
  it.each(['', 'whsec_', 'whsec_c2hvcnQ=', 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', `whsec_${'A'.repeat(100)}`])(
    '"%s" is refused',
    (secret) => {
      expect(() => signingKeyOf(secret)).toThrow('a secret must be whsec_ + base64');
    },
  );
});
