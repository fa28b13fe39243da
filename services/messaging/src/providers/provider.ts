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

/** A message to one address. */
export interface Outgoing {
  messageId: string;
  /** Id of the attempt. It is the same in every call and serves as idempotency key if the provider supports one. */
  attemptId: string;
  channel: Channel;
  /** E.164, an email address, or the provider's own id of a user without a number. */
  to: string;
  /** Subject of an email, otherwise "". */
  subject: string;
  body: string;
  /** WhatsApp only; replaces the body. */
  template?: WhatsAppTemplate | undefined;
  /** URL at which a recipient of marketing email unsubscribes with a POST, without a key. */
  unsubscribeUrl?: string | undefined;
}

/**
 * Outcome of a provider call. `receipts` are those in the response. `rejected` is permanent. `refused`: the channel's credentials are.
 * `unavailable` may be retried. `unknown` never is, because the message may have been accepted. `message` is for people.
 */
export type SendResult =
  | { outcome: 'accepted'; providerId: string; receipts?: readonly ReceiptStatus[] }
  | { outcome: 'rejected'; message: string; reason?: 'opted_out' }
  | { outcome: 'refused'; message: string }
  | { outcome: 'unavailable'; message: string; retryAfterMs?: number }
  | { outcome: 'unknown'; message: string };

/** A provider's report about a message that it accepted. */
export interface Receipt {
  /** The provider's id of the message, or the attempt's id. */
  providerId: string;
  status: ReceiptStatus;
  at: Date;
}

/** An inbound message. */
export interface Inbound {
  providerId: string;
  /** The provider's own id of the sender, the same in all of their messages. */
  sender: string;
  /** Address for replies: E.164, an email address, or `sender` if the sender has neither. */
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

/** Content of a request to the hook. `response` is the body of the response, "" by default. */
export interface HookContent {
  receipts: Receipt[];
  messages: Inbound[];
  response?: string;
}

/** Resources of the process for providers. */
export interface ProviderTools {
  /** Posts to guarded addresses with one deadline of 15 s. It never retries. */
  poster: Poster;
  /** Rules for connection targets, for a provider that does not use HTTP. */
  guard: TargetGuard;
  /** URLs of the Twilio and Meta APIs, without a trailing slash. */
  twilioUrl: string;
  whatsappUrl: string;
  /** URL of the hook of this account and channel. */
  hookUrl: string;
}

/** A request to a hook. It has no key: its signature over the exact bytes of `body` authenticates the sender. */
export interface HookCall {
  method: 'GET' | 'POST';
  query: URLSearchParams;
  /** The query as sent, from its "?" on; "" without one. */
  rawQuery: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** The real time. The caller converts receipts and messages to the account's clock. */
  now: Date;
}

/** An adapter that sends messages and parses receipts and inbound messages. A file of this folder exports one as `provider`. */
export interface Provider<Settings extends object = Record<string, unknown>> {
  /** Name in the API. */
  name: string;
  channels: readonly Channel[];
  settings: z.ZodType<Settings>;
  /** Write-only settings. A change that omits them keeps them. */
  secrets: readonly (keyof Settings & string)[];
  /** Settings whose change clears the secrets, which could otherwise be sent to another target. */
  secretsBelongTo: readonly (keyof Settings & string)[];
  /** Completes settings before they are stored: generates secrets and refuses forbidden targets. */
  prepare?(
    settings: Settings,
    call: { guard: TargetGuard; prefetch(work: (call: PrefetchCall) => Promise<void>): void },
  ): Settings;
  /** Returns whether free text is not delivered to a recipient who last wrote at `wroteAt` (null: never). Omitted if it always is. */
  isOutsideWindow?(message: Outgoing, wroteAt: Date | null, now: Date): boolean;
  /** Never rejects because of the provider. A rejection is a bug in the adapter and counts as an unknown outcome. */
  send(message: Outgoing, settings: Settings, tools: ProviderTools): Promise<SendResult>;
  /** Parses a request to the hook. Throws ApiError `invalid_key` (401) if its signature is wrong or too old. */
  readHook?(call: HookCall, settings: Settings, hookUrl: string): HookContent;
}

/** Time after a user's last WhatsApp message during which free text is delivered to them. */
const windowMs = 24 * 3_600_000;

/** Returns whether WhatsApp delivers only templates, since the recipient last wrote at `wroteAt`, and the message has none. */
export function isOutsideWindow({ channel, template }: Outgoing, wroteAt: Date | null, now: Date): boolean {
  if (channel !== 'whatsapp' || template) return false;
  return wroteAt === null || now.getTime() - wroteAt.getTime() > windowMs;
}
