import { describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { type Event, signWebhook, verifyWebhook, type WebhookFault, WebhookVerificationError } from '../index.ts';

const secretOf = (seed: number) => `whsec_${Buffer.alloc(32, seed).toString('base64')}`;
const [secret, other] = [secretOf(1), secretOf(2)] as const;
const id = '0193f0a0-0000-7000-8000-000000000001';
const body = JSON.stringify({
  id,
  type: 'contact.created',
  timestamp: '2026-11-20T09:00:00+01:00',
  account: '0193f0a0-0000-7000-8000-000000000002',
  mode: 'test',
  data: { contact: { name: 'Zoë 😀' } },
});
const now = new Date();

/** Returns the headers of a delivery that the reference library signed. */
const signed = (text = body, keys: readonly string[] = [secret], at = now) => ({
  'webhook-id': id,
  'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
  'webhook-signature': keys.map((key) => new Webhook(key).sign(id, at, text)).join(' '),
});

async function faultOf(headers: Record<string, string>, text = body, at = now): Promise<WebhookFault | undefined> {
  return await verifyWebhook(headers, text, secret, { now: at }).then(
    () => undefined,
    (error: unknown) => {
      expect(error).toBeInstanceOf(WebhookVerificationError);
      return (error as WebhookVerificationError).reason;
    },
  );
}

describe('a delivery that the reference library signed', () => {
  it('is verified, as a string and as bytes', async () => {
    const event = await verifyWebhook(signed(), body, secret);
    expect(event).toEqual(JSON.parse(body));
    const bytes = new TextEncoder().encode(body);
    expect(await verifyWebhook(signed(), bytes, secret)).toEqual(event);
    expect(await verifyWebhook(signed(), Buffer.from(body), secret)).toEqual(event);
    expect(await verifyWebhook(signed(), bytes.buffer, secret)).toEqual(event);
  });

  it('is refused if it is parsed, with an error that says what to pass', async () => {
    for (const parsed of [JSON.parse(body), undefined, null, [1], 5]) {
      await expect(verifyWebhook(signed(), parsed as never, secret)).rejects.toThrow(
        new TypeError("body must be the request's raw body as a string or bytes, not parsed"),
      );
    }
  });

  it('is verified with either secret while both sign, and with any of several', async () => {
    await verifyWebhook(signed(body, [other, secret]), body, secret);
    await verifyWebhook(signed(body, [secret]), body, [other, secret]);
    const newer = `v1a,AAAA v2,x ${signed()['webhook-signature']}`;
    await verifyWebhook({ ...signed(), 'webhook-signature': newer }, body, secret);
    await verifyWebhook(signed(), body, secret.slice('whsec_'.length));
  });

  it('is verified with headers in any form', async () => {
    const headers = signed();
    const pairs = Object.entries(headers);
    const forms = [
      new Headers(headers),
      pairs,
      Object.fromEntries(pairs.map(([name, value]) => [name.toUpperCase(), value])),
      Object.fromEntries(pairs.map(([name, value]) => [name, [value]])),
      { ...headers, 'webhook-signature': ['v1,AAAA', headers['webhook-signature']], 'x-other': undefined },
      { ...headers, 'webhook-signature': `v1,AAAA, ${headers['webhook-signature']}` },
      // A header with the name of a method.
      { ...headers, get: 'a header' },
    ];
    for (const form of forms) await verifyWebhook(form, body, secret);
  });
});

describe('a delivery is refused', () => {
  it('for another body, secret, id, time or signature', async () => {
    expect(await faultOf(signed(), body.replace('Zoë', 'Zoe'))).toBe('wrong_signature');
    expect(await faultOf(signed(), JSON.stringify(JSON.parse(body), null, 1))).toBe('wrong_signature');
    expect(await faultOf(signed(body, [other]))).toBe('wrong_signature');
    expect(await faultOf({ ...signed(), 'webhook-id': 'another' })).toBe('wrong_signature');
    const later = String(Number(signed()['webhook-timestamp']) + 1);
    expect(await faultOf({ ...signed(), 'webhook-timestamp': later })).toBe('wrong_signature');
    for (const signature of ['', 'v1,', 'v1,AAAA', 'v1,***', signed()['webhook-signature'].replace('v1', 'v2')]) {
      expect(await faultOf({ ...signed(), 'webhook-signature': signature })).toBe('wrong_signature');
    }
  });

  it('without one of the headers, or with a malformed time', async () => {
    for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature']) {
      const headers: Record<string, string> = signed();
      delete headers[name];
      expect(await faultOf(headers)).toBe('missing_header');
    }
    for (const time of ['', 'now', '1.5', '-1', '1e9', '9'.repeat(40)]) {
      expect(await faultOf({ ...signed(), 'webhook-timestamp': time })).toBe('malformed_header');
    }
  });

  it('more than five minutes before or after its time', async () => {
    const at = (seconds: number) => new Date((Math.floor(now.getTime() / 1000) + seconds) * 1000);
    expect(await faultOf(signed(), body, at(300))).toBeUndefined();
    expect(await faultOf(signed(), body, at(301))).toBe('timestamp_too_old');
    expect(await faultOf(signed(), body, at(-300))).toBeUndefined();
    expect(await faultOf(signed(), body, at(-301))).toBe('timestamp_too_new');
  });

  it('if it is signed but not an event', async () => {
    for (const text of ['', 'hello', 'null', '[]', '{"type":1}'])
      expect(await faultOf(signed(text), text)).toBe('malformed_body');
  });
});

describe('secrets', () => {
  it('that are missing, such as an unset environment variable, are reported', async () => {
    for (const missing of [undefined, '', [], ['', secret]] as string[][])
      await expect(verifyWebhook(signed(), body, missing)).rejects.toThrow('The secret is missing: pass the whsec_…');
  });

  it('that are malformed throw a TypeError that does not contain them', async () => {
    for (const wrong of ['whsec_', '', 'whsec_not base64', []]) {
      const error = await verifyWebhook(signed(), body, wrong).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(TypeError);
      expect((error as Error).message).not.toContain('not base64');
    }
  });
});

describe('signWebhook', () => {
  it('signs so that the reference library verifies it', async () => {
    const headers = await signWebhook(body, secret, { id });
    expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body));
    expect(await signWebhook(body, secret, { id, timestamp: now })).toEqual(signed());
  });
});

describe('an event', () => {
  it('is narrowed by its type, although newer kinds may exist', () => {
    const told = (event: Event): string => {
      switch (event.type) {
        case 'contact.created':
          return event.data.contact.name;
        case 'appointment.rescheduled':
          return `${event.data.appointment.title} ${Object.keys(event.data.previous ?? {}).join()}`;
        default:
          // @ts-expect-error: not every event has a contact
          return String(event.data.contact);
      }
    };
    // @ts-expect-error: there is no such kind
    const isMistyped = (event: Event) => event.type === 'contact.creatd';
    const isNewer = (event: Event) => (event.type as string) === 'order.returned';
    const event = JSON.parse(body) as Event;
    expect([told(event), isMistyped(event), isNewer(event)]).toEqual(['Zoë 😀', false, false]);
  });
});
