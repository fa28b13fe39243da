import { getContactReach } from '@customer-platform/contracts/cdp';
import { ApiError } from '@customer-platform/contracts/core';
import { decryptSecret, type SecretKeys } from '@customer-platform/outbound';
import { type Bus, inSpan, type Logger, SpanKind } from '@customer-platform/service-kit';
import type { UnsubscribeLinks } from '../links/unsubscribe-links.ts';
import { providers } from '../providers/all.ts';
import type { ProviderTools, SendResult } from '../providers/provider.ts';
import type { DueAttempt } from './claims.sql.ts';
import type { Suspensions } from './suspended-accounts.ts';
import type { CallResult } from './write-results.ts';

/** Resources of the process that sending needs. */
export interface SendContext {
  bus: Bus;
  log: Logger;
  secretKeys: SecretKeys;
  suspensions: Suspensions;
  tools: Omit<ProviderTools, 'hookUrl'>;
  hookUrlOf(token: string): string;
  unsubscribeLinks: UnsubscribeLinks;
}

/** Wait before the next call while a dependency is unavailable. */
const askAgainMs = 5_000;

/** Makes one call of the provider, after looking up consent and the address. Never rejects. */
export async function sendAttempt(due: DueAttempt, context: SendContext): Promise<CallResult> {
  const { message_id, attempt_id, channel, number, attempts } = due;
  const attributes = {
    'message.id': message_id,
    'message.attempt': number,
    'message.channel': channel,
    'message.try': attempts,
  };
  return await inSpan('send message', { kind: SpanKind.CLIENT, attributes }, async (span) => {
    const result = await call(due, context).catch((error: unknown): CallResult => {
      context.log.error(
        { err: error, message: message_id, attempt: attempt_id },
        'a provider call failed unexpectedly',
      );
      return { outcome: 'unknown', message: 'The provider responded unexpectedly' };
    });
    span?.setAttribute('message.outcome', result.outcome);
    return result;
  });
}

async function call(due: DueAttempt, context: SendContext): Promise<CallResult> {
  const name = due.is_simulated ? 'simulated' : due.provider;
  const provider = name === null ? undefined : providers.get(name);
  if (due.is_too_late) return { outcome: 'skipped', reason: 'too_late' };
  if (!provider) return { outcome: 'skipped', reason: 'not_set_up' };
  if (due.is_hold_over) return { outcome: 'skipped', reason: 'channel_failing' };
  const reach = await reachOf(due, context);
  if ('outcome' in reach) return reach;
  const { to } = reach;
  const { subject, body, template } = due.step;
  const message = {
    messageId: due.message_id,
    attemptId: due.attempt_id,
    channel: due.channel,
    to,
    subject,
    body,
    template,
    unsubscribeUrl: unsubscribeUrlOf(due, context),
  };
  if (provider.isOutsideWindow?.(message, due.wrote_at, due.running_since))
    return { outcome: 'skipped', reason: 'outside_window', address: to };
  // Checked last, because the account may have been suspended between the claim and the call.
  const isSuspended = await unlessUnavailable(context.suspensions.isSuspended(due.account_id));
  if (isSuspended === undefined) return { outcome: 'postponed', waitMs: askAgainMs };
  if (isSuspended) return { outcome: 'suspended' };
  const settings = due.is_simulated ? {} : settingsOf(due, context.secretKeys);
  const hookUrl = due.token === null ? '' : context.hookUrlOf(due.token);
  const result: SendResult = await provider.send(message, settings, {
    ...context.tools,
    hookUrl,
  });
  return { ...result, address: to };
}

/** Returns the unsubscribe link for a marketing email to a contact; undefined for any other message. */
function unsubscribeUrlOf(due: DueAttempt, { unsubscribeLinks }: SendContext): string | undefined {
  const { account_id: accountId, contact_id: contactId, channel, purpose } = due;
  if (purpose !== 'marketing' || channel !== 'email' || contactId === null) return undefined;
  return unsubscribeLinks.urlOf({ accountId, contactId, channel });
}

/** Returns the decrypted settings of the attempt's channel. */
function settingsOf({ account_id, channel, settings }: DueAttempt, keys: SecretKeys): Record<string, unknown> {
  return JSON.parse(decryptSecret(keys, settings!, account_id, channel)) as Record<string, unknown>;
}

/**
 * Returns the address that the message goes to. Consent and email addresses are always requested from customer data; a
 * phone number comes from the copy.
 */
async function reachOf(due: DueAttempt, { bus }: SendContext): Promise<{ to: string } | CallResult> {
  const { account_id, contact_id, channel, purpose, address } = due;
  const isMarketing = purpose === 'marketing';
  if (contact_id === null) return isMarketing ? { outcome: 'skipped', reason: 'no_consent' } : { to: address };
  if (!isMarketing && address !== '') return { to: address };
  if (!isMarketing && channel !== 'email') return { outcome: 'skipped', reason: 'no_address' };
  const reach = await unlessUnavailable(
    bus.ask(getContactReach, account_id, { contact: contact_id, channel, purpose }),
  );
  if (reach === undefined) return { outcome: 'postponed', waitMs: askAgainMs };
  if (isMarketing && reach.consent !== 'granted') return { outcome: 'skipped', reason: 'no_consent' };
  // Customer data has no address for a contact without one, but this service's senders do.
  const to = reach.address ?? (channel === 'email' ? '' : address);
  return to === '' ? { outcome: 'skipped', reason: 'no_address' } : { to };
}

/** Returns the reply; undefined if the other service is unavailable. */
async function unlessUnavailable<Reply>(asked: Promise<Reply>): Promise<Reply | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'service_unavailable') throw error;
    return undefined;
  }
}
