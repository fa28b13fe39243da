import type { Channel, ReceiptStatus } from '@customer-platform/contracts/messaging';
import type { Poster, TargetGuard } from '@customer-platform/outbound';
import type { HookCall, PrefetchCall } from '@customer-platform/service-kit';
import type { z } from 'zod';

/** One message on its way to one address. */
export interface Outgoing {
  messageId: string;
  /** The attempt's own id: the same in every try, the provider's idempotency key where it knows one. */
  attemptId: string;
  channel: Channel;
  /** E.164, or an email's address. */
  to: string;
  /** Of an email; "" where there is none. */
  subject: string;
  body: string;
}

/**
 * What came of a call: accepted with the provider's id, and with `receipts` that it gives at once; rejected for good; unavailable for now, so that it may be tried again;
 * or unknown, because it may have been taken: that is never tried again. `message` is for people.
 */
export type SendResult =
  | { outcome: 'accepted'; providerId: string; receipts?: readonly ReceiptStatus[] }
  | { outcome: 'rejected'; message: string }
  | { outcome: 'unavailable'; message: string; retryAfterMs?: number }
  | { outcome: 'unknown'; message: string };

/** What a provider reports about a message that it took. */
export interface Receipt {
  /** The provider's id of the message, or the attempt's own. */
  providerId: string;
  status: ReceiptStatus;
  at: Date;
}

/** What somebody wrote to the account. */
export interface Inbound {
  providerId: string;
  /** E.164, or an email's address. */
  from: string;
  /** "" where the provider does not say. */
  name: string;
  body: string;
  at: Date;
}

/** What one request to the hook holds; `answer` is what the provider is to be answered, "" where it does not matter. */
export interface HookContent {
  receipts: Receipt[];
  messages: Inbound[];
  answer?: string;
}

/** What providers get of the process. */
export interface ProviderTools {
  /** Posts to guarded addresses with one deadline of 15 s; never sends twice by itself. */
  poster: Poster;
  /** Where a connection may lead, for a provider that does not speak HTTP. */
  guard: TargetGuard;
  /** The addresses of Twilio's and of Meta's API, without a trailing slash. */
  twilioUrl: string;
  whatsappUrl: string;
  /** The address of the hook of this account and channel. */
  hookUrl: string;
}

/** What sends messages and reads what comes back. A file of this folder exports one as `provider`; nothing else names it. */
export interface Provider<Settings extends object = Record<string, unknown>> {
  /** As the API names it. */
  name: string;
  channels: readonly Channel[];
  settings: z.ZodType<Settings>;
  /** Settings that never come back out; left out in a change they stay. */
  secrets: readonly (keyof Settings & string)[];
  /** What the secrets belong to: where one of these changes they do not stay, or they could be sent to somebody else. */
  secretsBelongTo: readonly (keyof Settings & string)[];
  /** What is settled before settings are stored: secrets that are made, targets that are refused. */
  prepare?(
    settings: Settings,
    call: { guard: TargetGuard; prefetch(work: (call: PrefetchCall) => Promise<void>): void },
  ): Settings;
  /** Never rejects for what the provider does; a rejection is a fault of ours and counts as an unknown outcome. */
  send(message: Outgoing, settings: Settings, tools: ProviderTools): Promise<SendResult>;
  /** Reads a request to the hook. Throws ApiError invalid_key (401) where its signature is not right or too old. */
  readHook?(
    call: Pick<HookCall<never>, 'method' | 'query' | 'headers' | 'body' | 'now'>,
    settings: Settings,
    hookUrl: string,
  ): HookContent;
}
