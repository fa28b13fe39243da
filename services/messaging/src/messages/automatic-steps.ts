import type { AccountContext } from '@customer-platform/contracts/core';
import type { Channel, WhatsAppTemplate } from '@customer-platform/contracts/messaging';
import { providers } from '../providers/all.ts';
import type { AutomaticChannels } from '../settings/settings.sql.ts';
import type { Step } from './message-state.ts';

/** Content of a message that the platform sends on its own; WhatsApp sends the template where there is one. */
export interface AutomaticContent {
  subject: string;
  body: string;
  template?: WhatsAppTemplate | undefined;
}

/**
 * Returns the steps of a message that the platform sends on its own: on the channel that is asked for, then on those of the settings, each
 * once. Channels that a live account has not set up are passed over; a sandbox has all of them. Where no receipt can come, as from a mail
 * server, only a failure leads to the next channel: everybody would be told twice.
 */
export function automaticSteps(
  first: Channel,
  { subject, body, template }: AutomaticContent,
  { fallback, fallback_after_seconds, set_up }: AutomaticChannels,
  { mode }: Pick<AccountContext, 'mode'>,
): Step[] {
  const channels = [...new Set([first, ...fallback])].filter((channel) => mode === 'test' || set_up[channel]);
  return channels.map((channel) => {
    const text = channel === 'whatsapp' && template ? { body: '', subject: '', template } : { body, subject };
    const hasReceipts = mode === 'test' || providers.get(set_up[channel]!)?.readHook !== undefined;
    return { channel, ...text, fallback_after_seconds: hasReceipts ? fallback_after_seconds : null };
  });
}
