import { instant, text } from '@customer-platform/contracts/core';
import { receiptStatus } from '@customer-platform/contracts/messaging';
import {
  isSigned,
  newSigningSecret,
  refusePrivateTarget,
  signatureHeader,
  signingKeyOf,
} from '@customer-platform/outbound';
import { fieldParser } from '@customer-platform/service-kit';
import { z } from 'zod';
import { jsonObjectOf, storable, wrongSignature } from './hook-input.ts';
import { providerId, toSendResult } from './post-result.ts';
import { type Provider, plainText } from './provider.ts';

const settings = z.object({
  url: z.string(),
  secret: z.string().refine(isSigningSecret, { error: 'must be whsec_ + base64 of 24 to 64 bytes' }).optional(),
});
type Settings = z.output<typeof settings>;

const accepted = z.object({ id: providerId }).transform(({ id }) => id);
const refused = z.union([
  z.object({ error: z.object({ message: z.string() }) }).transform(({ error }) => ({ text: error.message })),
  z.object({ error: z.string() }).transform(({ error }) => ({ text: error })),
  z.object({ message: z.string() }).transform(({ message }) => ({ text: message })),
]);

/** Fields of a hook's body, parsed one by one so that an error names the invalid one. */
const kind = field('type', z.enum(['receipt', 'inbound'], { error: 'must be receipt or inbound' }));
const id = field('id', providerId);
const at = field('at', instant);
const status = field('status', receiptStatus);
// A failed receipt ends its attempt whether it is permanent or not: `permanent` is only validated.
const permanent = field('permanent', z.boolean().optional());
const from = field('from', text(254, 1));
const name = field('name', z.string().optional());
const written = field('body', z.string());

/**
 * The account's own provider, or an adapter to any other: it gets a message as signed JSON and responds with an id, and sends receipts
 * and inbound messages signed with the same secret.
 */
export const provider: Provider<Settings> = {
  name: 'http',
  channels: ['whatsapp', 'sms', 'email'],
  settings,
  secrets: ['secret'],
  // The secret is never sent, so a changed url cannot leak it.
  secretsBelongTo: [],

  prepare(given, call) {
    refusePrivateTarget(given.url, 'settings.url', call);
    return { ...given, secret: given.secret ?? newSigningSecret() };
  },

  async send(message, { url, secret = '' }, { poster, hookUrl }) {
    const { messageId, attemptId, channel, to, subject, body, template, unsubscribeUrl: unsubscribe_url } = message;
    const content = { message: messageId, attempt: attemptId, channel, to, subject, body, template, unsubscribe_url };
    const json = JSON.stringify(content);
    const timestamp = Math.floor(Date.now() / 1000);
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'customer-platform-messages/1.0',
      'webhook-id': attemptId,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signatureHeader(attemptId, timestamp, json, [signingKeyOf(secret)]),
    };
    // The hook's URL belongs to one account and channel: no two accounts share a connection.
    const result = await poster.post({ poolKey: hookUrl, url, headers, body: json });
    return toSendResult(result, { name: 'The provider', accepted, refused, secrets: [secret] });
  },

  readHook({ headers, body, now }, { secret = '' }) {
    if (!isSigned(headers, body, [signingKeyOf(secret)], now)) throw wrongSignature();
    const given = jsonObjectOf(body);
    if (kind(given) === 'receipt') {
      permanent(given);
      return { receipts: [{ providerId: id(given), status: status(given), at: at(given) }], messages: [] };
    }
    const sender = storable(from(given));
    const message = {
      ...plainText,
      providerId: id(given),
      sender,
      from: sender,
      name: storable(name(given) ?? '', 200),
      body: storable(written(given)),
      at: at(given),
    };
    return { receipts: [], messages: [message] };
  },
};

/** Returns a parser of one field of a hook's body; null counts as left out. It throws invalid_request with that field. */
function field<Schema extends z.ZodType>(name: string, schema: Schema) {
  const parse = fieldParser(schema, name);
  return (body: Record<string, unknown>) => parse(body[name] ?? undefined);
}

function isSigningSecret(secret: string): boolean {
  try {
    signingKeyOf(secret);
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
