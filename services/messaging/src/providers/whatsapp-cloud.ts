import { createHmac } from 'node:crypto';
import { ApiError } from '@customer-platform/contracts/core';
import {
  type InboundMedia,
  type InboundType,
  inboundType,
  type WhatsAppTemplate,
} from '@customer-platform/contracts/messaging';
import { z } from 'zod';
import { inE164, isSame, jsonObjectOf, storable, whatsappUserId, wrongSignature } from './hook-input.ts';
import { providerId, toSendResult } from './post-result.ts';
import { type HookContent, type Inbound, isOutsideWindow, type Provider, type Receipt } from './provider.ts';

const secret = z
  .string()
  .regex(/^[\x21-\x7e]{1,1000}$/, { error: 'must be 1 to 1000 ASCII characters without spaces' });
const settings = z.object({
  phone_number_id: z.string().regex(/^\d{1,32}$/, { error: 'must be the digits of the id of a phone number' }),
  access_token: secret,
  app_secret: secret,
  verify_token: secret,
});
type Settings = z.output<typeof settings>;

/** Error codes that are temporary whatever their status: rate limits and Meta's own outages. */
const temporaryCodes = [4, 80007, 130429, 131056, 131016, 131000];

/** Error codes that concern one recipient despite status 403: the business may not message users in that country. */
const recipientCodes = [130_497];

const accepted = z
  .object({ messages: z.tuple([z.object({ id: providerId })], z.unknown()) })
  .transform(({ messages }) => messages[0].id);
const refused = z
  .object({
    error: z.object({
      message: z.string(),
      code: z.number().nullish(),
      error_subcode: z.number().nullish(),
      is_transient: z.boolean().nullish(),
    }),
  })
  .transform(({ error: { message, code, error_subcode, is_transient } }) => {
    const codes = [code, error_subcode].filter((one) => one != null);
    return {
      text: codes.length === 0 ? message : `${message} (${codes.join('/')})`,
      isOfMessage: code != null && recipientCodes.includes(code),
      isTemporary: is_transient === true || (code != null && temporaryCodes.includes(code)),
    };
  });

/** Unix seconds, which Meta sends as a string. Other values are dropped, since converting them to a string may throw. */
const seconds = z.union([z.string(), z.number()]).optional().catch(undefined);

const statusEntry = z.object({
  id: providerId,
  status: z.enum(['sent', 'delivered', 'read', 'failed']),
  timestamp: seconds,
  // The attempt's id, which the request included. It identifies the receipt even if the response to the request was lost.
  biz_opaque_callback_data: providerId.optional().catch(undefined),
});

const shown = z.string().catch('');
/** A number, normalized with a plus, or Meta's id of a user instead. */
const address = z
  .string()
  .refine((text) => /^\+?\d{7,15}$/.test(text) || whatsappUserId.test(text))
  .transform((text) => (whatsappUserId.test(text) ? text : text.replace(/^\+?/, '+')))
  .optional()
  .catch(undefined);
/** Meta's id of a user, who may have no visible number. */
const userId = z.string().regex(whatsappUserId).optional().catch(undefined);

/** A part of a message, dropped as a whole if it has another shape. */
const part = <Shape extends z.ZodRawShape>(shape: Shape) => z.object(shape).optional().catch(undefined);
const title = part({ title: shown });
const file = part({ id: providerId, mime_type: shown, filename: shown, caption: shown });

const messageEntry = z.object({
  id: providerId,
  from: address,
  from_user_id: userId,
  timestamp: seconds,
  type: shown,
  text: part({ body: shown }),
  image: file,
  video: file,
  audio: file,
  document: file,
  sticker: file,
  location: part({ name: shown, address: shown }),
  order: part({ text: shown }),
  button: part({ text: shown }),
  interactive: part({ button_reply: title, list_reply: title, nfm_reply: part({ body: shown }) }),
  reaction: part({ message_id: providerId, emoji: shown }),
});
type MessageEntry = z.output<typeof messageEntry>;

const contactEntry = z.object({ wa_id: address, user_id: userId, profile: part({ name: shown }) });
type ContactEntry = z.output<typeof contactEntry>;

/** Maximum number of entries that Meta puts into one request. */
const maxEntries = 1_000;

/** WhatsApp via Meta's Cloud API. */
export const provider: Provider<Settings> = {
  name: 'whatsapp_cloud',
  channels: ['whatsapp'],
  settings,
  secrets: ['access_token', 'app_secret', 'verify_token'],
  secretsBelongTo: ['phone_number_id'],

  isOutsideWindow,

  async send({ attemptId, to, body, template }, given, { poster, whatsappUrl, hookUrl }) {
    const { phone_number_id, access_token, app_secret, verify_token } = given;
    const result = await poster.post({
      // The hook's URL is unique per account and channel, so no accounts share or wait for a connection.
      poolKey: hookUrl,
      url: `${whatsappUrl}/v23.0/${phone_number_id}/messages`,
      headers: {
        'content-type': 'application/json',
        'user-agent': 'customer-platform-messages/1.0',
        authorization: `Bearer ${access_token}`,
      },
      body: JSON.stringify({
        messaging_product: 'whatsapp',
        recipient_type: 'individual',
        ...recipientOf(to),
        ...(template ? contentOfTemplate(template) : { type: 'text', text: { body, preview_url: false } }),
        biz_opaque_callback_data: attemptId,
      }),
    });
    const secrets = [access_token, app_secret, verify_token];
    return toSendResult(result, { name: 'WhatsApp', accepted, refused, secrets });
  },

  // Meta retries a request for days with its first signature, so its age says nothing about authenticity.
  readHook({ method, query, headers, body, now }, { app_secret, verify_token }) {
    if (method === 'GET') return { receipts: [], messages: [], response: challengeOf(query, verify_token) };
    const mac = createHmac('sha256', app_secret).update(body).digest('hex');
    const signature = headers['x-hub-signature-256'];
    if (typeof signature !== 'string' || !isSame(signature, `sha256=${mac}`)) throw wrongSignature();
    return contentOf(jsonObjectOf(body), now);
  },
};

/** Returns the recipient: a number, or Meta's id of a user without one. */
function recipientOf(to: string) {
  return to.startsWith('+') ? { to: to.slice(1) } : { recipient: to };
}

function contentOfTemplate({ name, language, parameters }: WhatsAppTemplate) {
  const body = { type: 'body', parameters: parameters.map((text) => ({ type: 'text', text })) };
  const components = parameters.length > 0 ? [body] : [];
  return { type: 'template', template: { name, language: { code: language }, components } };
}

/** Returns the response to Meta's verification request. Throws `invalid_key` (401) if the verify token is wrong. */
function challengeOf(query: URLSearchParams, verifyToken: string): string {
  const isAsked = query.get('hub.mode') === 'subscribe' && isSame(query.get('hub.verify_token') ?? '', verifyToken);
  if (!isAsked) throw wrongSignature();
  return query.get('hub.challenge') ?? '';
}

/** Returns all receipts and messages of a request. Skips entries of other shapes, which are of other kinds. */
function contentOf(given: Record<string, unknown>, now: Date): HookContent {
  const changes = listIn(given, 'entry').flatMap((entry) => listIn(entry, 'changes'));
  const values = changes.map((change) => (isObject(change) ? change.value : undefined));
  // Checks the count before parsing, because entries that do not fit take longest.
  refuseTooMany(values.flatMap((value) => [...listIn(value, 'statuses'), ...listIn(value, 'messages')]));
  refuseTooMany(values.flatMap((value) => listIn(value, 'contacts')));
  const receipts = values.flatMap((value) =>
    fitting(statusEntry, listIn(value, 'statuses')).map(
      ({ id, status, timestamp, biz_opaque_callback_data: attemptId }): Receipt => {
        return { providerId: attemptId ?? id, status, at: dateOf(timestamp, now) };
      },
    ),
  );
  const messages = values.flatMap((value) => {
    const contactOf = contactFinder(fitting(contactEntry, listIn(value, 'contacts')));
    return fitting(messageEntry, listIn(value, 'messages')).flatMap((message) => {
      const inbound = inboundOf(message, contactOf(message), now);
      return inbound ? [inbound] : [];
    });
  });
  return { receipts, messages };
}

/** Returns a function that finds a message's contact by Meta's id or by number. A message with neither has the only contact. */
function contactFinder(contacts: readonly ContactEntry[]) {
  const byId = new Map(contacts.map((contact) => [contact.user_id, contact]));
  const byNumber = new Map(contacts.map((contact) => [contact.wa_id, contact]));
  return ({ from, from_user_id }: MessageEntry): ContactEntry | undefined => {
    if (from !== undefined || from_user_id !== undefined)
      return (from_user_id && byId.get(from_user_id)) || (from && byNumber.get(from)) || undefined;
    return contacts.length === 1 ? contacts[0] : undefined;
  };
}

/** Parses an inbound message. Undefined for a WhatsApp notice, which has no sender or the type system. */
function inboundOf(message: MessageEntry, contact: ContactEntry | undefined, now: Date): Inbound | undefined {
  const shown = message.from ?? contact?.wa_id;
  const from = shown && inE164(shown);
  const sender = message.from_user_id ?? contact?.user_id ?? from;
  if (sender === undefined || message.type === 'system') return undefined;
  const type = typeOf(message);
  return {
    providerId: message.id,
    sender,
    from: from ?? sender,
    name: storable(contact?.profile?.name ?? '', 200),
    type,
    body: storable(bodyOf(message, type)),
    media: mediaOf(message, type),
    reactionTo: (type === 'reaction' && message.reaction?.message_id) || null,
    at: dateOf(message.timestamp, now),
  };
}

function refuseTooMany({ length }: readonly unknown[]): void {
  if (length <= maxEntries) return;
  const message = `body must hold at most ${maxEntries} statuses and messages, and as many contacts`;
  throw new ApiError('invalid_request', message, { field: 'body' });
}

/** Returns a message's type; unknown types are `unsupported`. */
function typeOf({ type, text }: MessageEntry): InboundType {
  const known = inboundType.safeParse(type === '' && text ? 'text' : type);
  return known.success ? known.data : 'unsupported';
}

/** Returns all text that the sender wrote, or "". */
function bodyOf(message: MessageEntry, type: InboundType): string {
  const { text, location, order, button, interactive, reaction } = message;
  switch (type) {
    case 'text':
      return text?.body ?? '';
    case 'location':
      return [location?.name, location?.address].filter((line) => line).join(', ');
    case 'order':
      return order?.text ?? '';
    case 'button':
      return button?.text ?? '';
    case 'interactive':
      return interactive?.button_reply?.title ?? interactive?.list_reply?.title ?? interactive?.nfm_reply?.body ?? '';
    case 'reaction':
      return reaction?.emoji ?? '';
    default:
      return fileOf(message, type)?.caption ?? '';
  }
}

function mediaOf(message: MessageEntry, type: InboundType): InboundMedia | null {
  const { id, mime_type, filename } = fileOf(message, type) ?? {};
  if (id === undefined) return null;
  return {
    mime_type: storable(mime_type || 'application/octet-stream', 255),
    file_name: filename ? storable(filename, 255) : null,
    provider_id: id,
  };
}

function fileOf(message: MessageEntry, type: InboundType) {
  const isFile = type === 'image' || type === 'video' || type === 'audio' || type === 'document' || type === 'sticker';
  return isFile ? message[type] : undefined;
}

/** Parses Unix seconds; returns `now` if they are invalid. */
function dateOf(timestamp: z.output<typeof seconds>, now: Date): Date {
  return /^\d{1,10}$/.test(String(timestamp)) ? new Date(Number(timestamp) * 1000) : now;
}

function fitting<Schema extends z.ZodType>(schema: Schema, entries: readonly unknown[]): z.output<Schema>[] {
  return entries.flatMap((entry) => {
    const result = schema.safeParse(entry);
    return result.success ? [result.data] : [];
  });
}

function listIn(value: unknown, name: string): unknown[] {
  const list = isObject(value) ? value[name] : undefined;
  return Array.isArray(list) ? list : [];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
