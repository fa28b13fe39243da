import { createHmac } from 'node:crypto';
import { ApiError } from '@customer-platform/contracts/core';
import {
  type InboundType,
  inboundType,
  type ReceiptStatus,
  type WhatsAppTemplate,
} from '@customer-platform/contracts/messaging';
import { z } from 'zod';
import { inE164, isSame, storable, typeOfFile, whatsappUserId, wrongSignature } from './hook-input.ts';
import { providerId, toSendResult } from './post-result.ts';
import { type HookContent, type Inbound, isOutsideWindow, type Provider } from './provider.ts';

const settings = z.object({
  account_sid: z.string().regex(/^AC[0-9a-f]{32}$/i, { error: 'must be AC and 32 hexadecimal digits' }),
  auth_token: z.string().regex(/^[\x21-\x7e]{1,200}$/, { error: 'must be 1 to 200 ASCII characters without spaces' }),
  from: z.string().regex(/^(\+[1-9]\d{6,14}|MG[0-9a-f]{32})$/i, {
    error: 'must be a phone number such as +4930901820, or the id of a messaging service: MG and 32 hexadecimal digits',
  }),
});
type Settings = z.output<typeof settings>;

/** Twilio's error code for a recipient who replied STOP. */
const optedOutCode = 21_610;

const accepted = z.object({ sid: providerId }).transform(({ sid }) => sid);
const refused = z.object({ code: z.number().nullish(), message: z.string() }).transform(({ code, message }) => ({
  text: code == null ? message : `${message} (${code})`,
  reason: code === optedOutCode ? ('opted_out' as const) : undefined,
}));

/** Twilio statuses that are receipts. Earlier ones are accepted, scheduled, queued and sending. */
const receiptStatuses: Readonly<Record<string, ReceiptStatus>> = {
  sent: 'sent',
  delivered: 'delivered',
  read: 'read',
  undelivered: 'failed',
  failed: 'failed',
};

/** Twilio's Messages API. It has no idempotency key, so a message with an unknown outcome must not be sent again. */
export const provider: Provider<Settings> = {
  name: 'twilio',
  channels: ['whatsapp', 'sms'],
  settings,
  secrets: ['auth_token'],
  secretsBelongTo: ['account_sid'],

  isOutsideWindow,

  async send({ channel, to, body, template }, { account_sid, auth_token, from }, { poster, twilioUrl, hookUrl }) {
    const prefix = channel === 'whatsapp' ? 'whatsapp:' : '';
    const form = new URLSearchParams({
      To: prefix + to,
      ...(from.startsWith('+') ? { From: prefix + from } : { MessagingServiceSid: from }),
      ...(template ? contentOfTemplate(template) : { Body: body }),
      StatusCallback: hookUrl,
    });
    const credentials = Buffer.from(`${account_sid}:${auth_token}`).toString('base64');
    const result = await poster.post({
      // The hook's URL is unique per account and channel, so no accounts share or wait for a connection.
      poolKey: hookUrl,
      url: `${twilioUrl}/2010-04-01/Accounts/${account_sid}/Messages.json`,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'user-agent': 'customer-platform-messages/1.0',
        authorization: `Basic ${credentials}`,
      },
      body: form.toString(),
    });
    return toSendResult(result, { name: 'Twilio', accepted, refused, secrets: [auth_token, credentials] });
  },

  // The signature has no timestamp, so an old request's report gets the current time. A repeated one changes nothing,
  // because its id is known.
  readHook({ method, rawQuery, headers, body, now }, { auth_token }, hookUrl) {
    if (method !== 'POST') throw new ApiError('invalid_request', 'The hook must be called with POST');
    const given = headers['x-twilio-signature'];
    if (typeof given !== 'string' || hasTooManyParameters(body)) throw wrongSignature();
    const form = new URLSearchParams(body.toString('utf8'));
    // Twilio signs the URL as requested, in which a space may be %20 or +.
    if (!isSame(given, signatureOf(hookUrl + rawQuery, form, auth_token))) throw wrongSignature();
    return contentOf(form, now);
  },
};

/** Returns a template's parameters. Twilio identifies it by its ContentSid and numbers placeholders from 1. */
function contentOfTemplate({ name, parameters }: WhatsAppTemplate) {
  const variables = Object.fromEntries(parameters.map((value, index) => [index + 1, value]));
  return { ContentSid: name, ContentVariables: JSON.stringify(variables) };
}

/** Maximum number of parameters, far more than Twilio sends. Hooks need no key, so a larger form is not parsed. */
const maxParameters = 1_000;

function hasTooManyParameters(body: Buffer): boolean {
  let count = 1;
  for (let index = body.indexOf('&'); index !== -1 && count <= maxParameters; index = body.indexOf('&', index + 1))
    count++;
  return count > maxParameters;
}

/** Returns Twilio's signature: base64 HMAC-SHA1 of the URL and all names and values, sorted. Repeated values of a name count once. */
function signatureOf(url: string, form: URLSearchParams, authToken: string): string {
  const valuesOf = new Map<string, Set<string>>();
  for (const [name, value] of form) valuesOf.set(name, (valuesOf.get(name) ?? new Set()).add(value));
  const parameters = [...valuesOf.keys()]
    .sort()
    .flatMap((name) => [...valuesOf.get(name)!].sort().map((value) => name + value));
  return createHmac('sha1', authToken)
    .update(url + parameters.join(''))
    .digest('base64');
}

/** Returns the content of a request. It sets no response, because Twilio would send any text that is not TwiML to the customer. */
function contentOf(form: URLSearchParams, now: Date): HookContent {
  const nothing = { receipts: [], messages: [] };
  const id = providerId.safeParse(form.get('MessageSid') ?? form.get('SmsSid'));
  if (!id.success) return nothing;
  const reported = form.get('MessageStatus') ?? 'received';
  if (reported !== 'received') {
    const status = Object.hasOwn(receiptStatuses, reported) ? receiptStatuses[reported] : undefined;
    return status ? { ...nothing, receipts: [{ providerId: id.data, status, at: now }] } : nothing;
  }
  const message = inboundOf(id.data, form, now);
  return message ? { ...nothing, messages: [message] } : nothing;
}

/** Parses an inbound message; undefined without a sender. Keeps only the first of several files; WhatsApp sends only one. */
function inboundOf(id: string, form: URLSearchParams, now: Date): Inbound | undefined {
  const value = (name: string, most?: number) => storable(form.get(name) ?? '', most);
  const from = inE164(value('From', 254).replace(/^whatsapp:/, ''));
  if (from === '') return undefined;
  const userId = value('ExternalUserId', 254).replace(/^whatsapp:/, '');
  const fileUrl = Number(form.get('NumMedia')) > 0 ? value('MediaUrl0', 2_000) : '';
  const mime_type = value('MediaContentType0', 255) || 'application/octet-stream';
  const type = typeOf(form, fileUrl === '' ? undefined : mime_type);
  return {
    providerId: id,
    sender: whatsappUserId.test(userId) ? userId : from,
    from,
    name: value('ProfileName', 200),
    type,
    body: bodyOf(type, value),
    media: fileUrl === '' ? null : { mime_type, file_name: null, provider_id: fileUrl },
    reactionTo: (type === 'reaction' && value('OriginalRepliedMessageSid', 200)) || null,
    at: now,
  };
}

/** Returns a message's type by its content, otherwise by Twilio's MessageType, which exists only on WhatsApp. */
function typeOf(form: URLSearchParams, fileType: string | undefined): InboundType {
  const named = form.get('MessageType') ?? 'text';
  if (fileType !== undefined) return named === 'sticker' ? named : typeOfFile(fileType);
  if (form.get('Latitude') && form.get('Longitude')) return 'location';
  if (form.get('ButtonText')) return 'button';
  if (form.get('ListTitle')) return 'interactive';
  const known = inboundType.safeParse(named);
  return known.success ? known.data : 'unsupported';
}

/** Returns all text that the sender wrote. For a location or button, Body repeats it or is empty. */
function bodyOf(type: InboundType, value: (name: string) => string): string {
  const body = value('Body');
  if (type === 'location') return [value('Label'), value('Address')].filter((line) => line).join(', ') || body;
  if (type === 'button') return value('ButtonText') || body;
  return type === 'interactive' ? value('ListTitle') || body : body;
}
