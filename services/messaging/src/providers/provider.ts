import type { IncomingHttpHeaders } from 'node:http';
import type {
  Channel,
  InboundMedia,
  InboundType,
  ReceiptStatus,
  WhatsAppTemplate,
} from '@customer-platform/contracts/messaging';
import type { Poster, TargetGuard } from '@customer-platform/outbound';
import type { PrefetchCall } from '@customer-platform/service-kit';
import type { z } from 'zod';

/** Message to one address. */
export interface Outgoing {
  messageId: string;
  /** Id of the attempt: the same in every try, and the provider's idempotency key if it supports one. */
  attemptId: string;
  channel: Channel;
  /** E.164, an email address, or the provider's own id of somebody who shows no number. */
  to: string;
  /** Subject of an email, otherwise "". */
  subject: string;
  body: string;
  /** WhatsApp only, instead of the body. */
  template?: WhatsAppTemplate | undefined;
  /** Where the recipient of marketing by email unsubscribes, by a POST without a key. */
  unsubscribeUrl?: string | undefined;
}

/**
 * Outcome of a call: accepted with the provider's id, and with `receipts` that it gives at once; permanently rejected, `opted_out` where the
 * recipient wants no more; refused, since the credentials of the channel are; unavailable, so that it may be retried; or unknown, because it may have been accepted: that is never retried. `message` is for people.
 */
export type SendResult =
  | { outcome: 'accepted'; providerId: string; receipts?: readonly ReceiptStatus[] }
  | { outcome: 'rejected'; message: string; reason?: 'opted_out' }
  | { outcome: 'refused'; message: string }
  | { outcome: 'unavailable'; message: string; retryAfterMs?: number }
  | { outcome: 'unknown'; message: string };

/** Report of a provider about a message that it accepted. */
export interface Receipt {
  /** Provider's id of the message, or the attempt's id. */
  providerId: string;
  status: ReceiptStatus;
  at: Date;
}

/** Inbound message. */
export interface Inbound {
  providerId: string;
  /** The provider's own id of the sender, the same in each message of theirs. */
  sender: string;
  /** Where replies go to: E.164, an email address, or `sender` where the sender shows neither. */
  from: string;
  /** Sender's name, "" if the provider does not give it. */
  name: string;
  type: InboundType;
  /** All text that the sender wrote. */
  body: string;
  media: InboundMedia | null;
  /** The provider's id of the message that a reaction belongs to. */
  reactionTo: string | null;
  at: Date;
}

/** Content of a request to the hook; `response` is the body of our response, by default "". */
export interface HookContent {
  receipts: Receipt[];
  messages: Inbound[];
  response?: string;
}

/** Resources of the process for providers. */
export interface ProviderTools {
  /** Posts to guarded addresses with one deadline of 15 s; never resends by itself. */
  poster: Poster;
  /** Rules for targets of connections, for a provider that does not use HTTP. */
  guard: TargetGuard;
  /** URLs of Twilio's and of Meta's API, without a trailing slash. */
  twilioUrl: string;
  whatsappUrl: string;
  /** URL of the hook of this account and channel. */
  hookUrl: string;
}

/** A request to a hook, which has no key: its signature over `body`, byte for byte, says who sent it. */
export interface HookCall {
  method: 'GET' | 'POST';
  query: URLSearchParams;
  /** The query as it was sent, from its "?" on; "" without one. */
  rawQuery: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** The real time: who is called is known by what the call has. */
  now: Date;
}

/** Adapter that sends messages, and reads receipts and inbound messages. A file of this folder exports one as `provider`. */
export interface Provider<Settings extends object = Record<string, unknown>> {
  /** Name in the API. */
  name: string;
  channels: readonly Channel[];
  settings: z.ZodType<Settings>;
  /** Write-only settings; left out in a change they stay. */
  secrets: readonly (keyof Settings & string)[];
  /** Settings whose change clears the secrets, which could otherwise be sent to another target. */
  secretsBelongTo: readonly (keyof Settings & string)[];
  /** Completes settings before they are stored: generates secrets, refuses targets. */
  prepare?(
    settings: Settings,
    call: { guard: TargetGuard; prefetch(work: (call: PrefetchCall) => Promise<void>): void },
  ): Settings;
  /** Returns whether the provider would deliver no free text to a recipient who wrote last at `wroteAt`, null: never; left out where it always does. */
  isOutsideWindow?(message: Outgoing, wroteAt: Date | null, now: Date): boolean;
  /** Never rejects because of the provider; a rejection is a bug of ours and counts as an unknown outcome. */
  send(message: Outgoing, settings: Settings, tools: ProviderTools): Promise<SendResult>;
  /** Parses a request to the hook. Throws ApiError invalid_key (401) if its signature is wrong or too old. */
  readHook?(call: HookCall, settings: Settings, hookUrl: string): HookContent;
}

/** Time after somebody wrote on WhatsApp in which it delivers free text to them. */
const windowMs = 24 * 3_600_000;

/** Returns whether WhatsApp delivers a message to somebody who wrote last at `wroteAt` by a template alone, and it has none. */
export function isOutsideWindow({ channel, template }: Outgoing, wroteAt: Date | null, now: Date): boolean {
  if (channel !== 'whatsapp' || template) return false;
  return wroteAt === null || now.getTime() - wroteAt.getTime() > windowMs;
}
