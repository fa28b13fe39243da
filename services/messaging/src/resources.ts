import {
  allowedRangesSetting,
  createNameResolver,
  createPoster,
  parsed,
  parseSecretKeys,
  type SecretKeys,
} from '@customer-platform/outbound';
import {
  type Ask,
  askAs,
  baseConfig,
  type Foundation,
  implementer,
  inWorkTransaction,
  WorkQueue,
} from '@customer-platform/service-kit';
import { z } from 'zod';
import { changeMessages } from './messages/change-messages.ts';
import { takeResult } from './messages/message-state.ts';
import type { ProviderTools } from './providers/provider.ts';
import { inboundAnnouncement } from './receipts/inbound-announcer.ts';
import { insertReceipts, wakeReceipts } from './receipts/receipts.sql.ts';
import { Dispatcher } from './sending/dispatcher.ts';
import type { EndedTry } from './sending/result-writer.ts';
import { Suspensions } from './sending/suspended-accounts.ts';

const url = (fallback: string, description: string) =>
  z
    .url({ protocol: /^https?$/ })
    .default(fallback)
    .transform(withoutSlashesAtEnd)
    .meta({ description });

function withoutSlashesAtEnd(text: string): string {
  let end = text.length;
  while (text[end - 1] === '/') end -= 1;
  return text.slice(0, end);
}

/** The settings of this service. */
export const messagingConfig = baseConfig.extend({
  MESSAGING_SECRET_KEY: parsed(parseSecretKeys).meta({
    description: 'Encrypts the settings of channels: base64 of 32 bytes; to rotate, 2:<new>,1:<old>.',
  }),
  WEBHOOKS_ALLOWED_RANGES: allowedRangesSetting,
  PUBLIC_URL: url('http://127.0.0.1:8080', 'Where providers reach the gateway: the beginning of hook_url.'),
  MESSAGING_TIMEOUT_MS: z.coerce.number().int().min(100).max(15_000).default(15_000).meta({
    description: 'One deadline over a call of a provider.',
  }),
  MESSAGING_MAX_PER_CHANNEL: z.coerce.number().int().min(1).max(500).default(32).meta({
    description:
      'Calls under way at most of one account on one channel, in one process; a provider earns them by answering.',
  }),
  MESSAGING_MAX_IN_FLIGHT: z.coerce.number().int().min(1).max(2_000).default(256).meta({
    description: 'Calls under way at most that began within the last second; four times as many in all.',
  }),
  MESSAGING_TWILIO_URL: url('https://api.twilio.com', "The address of Twilio's API."),
  MESSAGING_WHATSAPP_URL: url('https://graph.facebook.com', "The address of Meta's Graph API."),
});
type MessagingConfig = z.output<typeof messagingConfig>;

/** What this service's operations, hooks, consumers and jobs share. */
export interface MessagingResources {
  secretKeys: SecretKeys;
  tools: Omit<ProviderTools, 'hookUrl'>;
  hookUrlOf(token: string): string;
  dispatcher: Dispatcher;
  /** Asks another service, for an account. */
  askFor(accountId: string): Ask;
  inbound: { wake(): void };
}

/** The `implement` of this service. */
export const implement = implementer<MessagingResources>();

/** Answers longer than this are cut: a provider may repeat the whole message. */
const keptBytes = 64 * 1024;

/** Starts the dispatcher and what it needs; `stop` ends it after the tries under way. */
export async function makeResources(foundation: Foundation<MessagingConfig>) {
  const { config } = foundation;
  const guard = { allowedRanges: config.WEBHOOKS_ALLOWED_RANGES, resolve: createNameResolver(5_000) };
  const poster = createPoster({
    ...guard,
    timeoutMs: config.MESSAGING_TIMEOUT_MS,
    maxSocketsPerPool: config.MESSAGING_MAX_PER_CHANNEL,
    maxSockets: config.MESSAGING_MAX_IN_FLIGHT * 6,
    keptBytes,
    neverResends: true,
  });
  const shared = {
    secretKeys: config.MESSAGING_SECRET_KEY,
    tools: { poster, guard, twilioUrl: config.MESSAGING_TWILIO_URL, whatsappUrl: config.MESSAGING_WHATSAPP_URL },
    hookUrlOf: (token: string) => `${config.PUBLIC_URL}/hooks/messages/${token}`,
  };
  const dispatcher = new Dispatcher({
    ...foundation,
    ...shared,
    suspensions: new Suspensions(foundation.accounts),
    maxPerLane: config.MESSAGING_MAX_PER_CHANNEL,
    maxInFlight: config.MESSAGING_MAX_IN_FLIGHT,
    write: (ended) => writeResults(foundation, ended),
  });
  const inbound = new WorkQueue(foundation, inboundAnnouncement(foundation));
  return {
    ...shared,
    askFor: (accountId: string) => askAs(foundation.bus, accountId),
    dispatcher,
    inbound,
    async stop() {
      await inbound.stop();
      await dispatcher.stop();
      await poster.close();
    },
  };
}

/** Writes what tries came to; receipts that came before their provider's id are looked at again. */
async function writeResults(foundation: Foundation, ended: readonly EndedTry[]): Promise<void> {
  await inWorkTransaction({ ...foundation, resources: undefined }, async (call) => {
    const { tx, now } = call;
    await changeMessages(
      call,
      ended.map(({ claim, result }) => {
        const { account_id, message_id, number } = claim;
        return { account_id, message_id, apply: (message) => takeResult(message, number, result, now) };
      }),
    );
    const accepted = ended.flatMap(({ claim, result }) =>
      result.outcome === 'accepted' ? [{ ...claim, ...result }] : [],
    );
    await wakeReceipts(tx, accepted, now);
    const receipts = accepted.flatMap(({ account_id, channel, providerId, receipts = [] }) =>
      receipts.map((status) => ({ account_id, channel, providerId, status, at: now })),
    );
    await insertReceipts(tx, receipts, now);
  });
}
