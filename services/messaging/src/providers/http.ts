import { instant, text } from '@customer-platform/contracts/core';
import { type InboundType, inboundType, receiptStatus } from '@customer-platform/contracts/messaging';
import {
  isSigned,
  newSigningSecret,
  refusePrivateTarget,
  signatureHeader,
  signingKeyOf,
} from '@customer-platform/outbound';
import { fieldParser } from '@customer-platform/service-kit';
import { z } from 'zod';
import { inE164, jsonObjectOf, storable, typeOfFile, wrongSignature } from './hook-input.ts';
import { providerId, toSendResult } from './post-result.ts';
import type { Inbound, Provider } from './provider.ts';

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

/** Fields of a hook's body, parsed one by one so that an error names the invalid field. */
const kind = field(
  'type',
  z.enum(['receipt', 'inbound', ...inboundType.options], {
    error: 'must be receipt, inbound, or a type of inbound message, such as image',
  }),
);
const id = field('id', providerId);
const at = field('at', instant);
const status = field('status', receiptStatus);
// Only validated: a failed receipt ends its attempt whether permanent or not.
const permanent = field('permanent', z.boolean().optional());
const from = field('from', text(254, 1).optional());
const senderAddress = field('from', text(254, 1));
/** An id of digits only would be taken for a phone number. */
const userId = field(
  'user_id',
  text(254, 1)
    .refine((id) => /\p{L}/u.test(id), { error: 'must have a letter, such as DE.1349120865530274' })
    .optional(),
);
const name = field('name', z.string().optional());
const written = field('body', z.string());
const writtenBeside = field('body', z.string().optional());
const media = field(
  'media',
  z.object({ mime_type: text(255, 1), file_name: text(255).nullish(), provider_id: text(2_000, 1) }).optional(),
);
const reactionTo = field('reaction_to', providerId.optional());

/**
 * The account's own provider, or an adapter to any other. It receives a message as signed JSON and responds with an id.
 * It sends receipts and inbound messages signed with the same secret.
 */
export const provider: Provider<Settings> = {
  name: 'http',
  channels: ['whatsapp', 'sms', 'email'],
  settings,
  secrets: ['secret'],
  // The secret is never sent, so a changed URL cannot leak it.
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
    // The hook's URL is unique per account and channel, so no two accounts share a connection.
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
    return { receipts: [], messages: [inboundOf(given)] };
  },
};

/**
 * Parses an inbound message. The type `inbound` means a text or, with `media`, a file. `user_id` is the provider's id
 * of the sender, who then may have no address. Only a text must have a body.
 */
function inboundOf(given: Record<string, unknown>): Inbound {
  const [named, file, user, target] = [kind(given), media(given), userId(given), reactionTo(given)];
  const type = typeOf(named, file?.mime_type);
  const shown = user === undefined ? senderAddress(given) : from(given);
  const address = shown === undefined ? undefined : inE164(storable(shown));
  const sender = user === undefined ? address! : storable(user);
  return {
    providerId: id(given),
    sender,
    from: address ?? sender,
    name: storable(name(given) ?? '', 200),
    type,
    body: storable((type === 'text' ? written : writtenBeside)(given) ?? ''),
    media: file
      ? {
          mime_type: storable(file.mime_type),
          file_name: file.file_name ? storable(file.file_name) : null,
          provider_id: storable(file.provider_id),
        }
      : null,
    reactionTo: type === 'reaction' ? (target ?? null) : null,
    at: at(given),
  };
}

function typeOf(named: ReturnType<typeof kind>, fileType: string | undefined): InboundType {
  if (named !== 'inbound' && named !== 'receipt') return named;
  return fileType === undefined ? 'text' : typeOfFile(fileType);
}

/** Returns a parser of one field of a hook's body that treats null as omitted. It throws `invalid_request` with that field. */
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
