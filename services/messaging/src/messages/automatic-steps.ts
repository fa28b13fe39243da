import type { AccountContext } from '@customer-platform/contracts/core';
import type { Channel, MessageStep, WhatsAppTemplate } from '@customer-platform/contracts/messaging';
import type { AutomaticChannels } from '../settings/settings.sql.ts';

/** Content of a message that the platform sends on its own; WhatsApp sends the template where there is one. */
export interface AutomaticContent {
  subject: string;
  body: string;
  template?: WhatsAppTemplate | undefined;
}

/**
 * Returns the steps of a message that the platform sends on its own: on the channel that is asked for, then on those of the settings, each
 * once. Channels that a live account has not set up are passed over; a sandbox has all of them.
 */
export function automaticSteps(
  first: Channel,
  { subject, body, template }: AutomaticContent,
  { fallback, fallback_after_seconds, set_up }: AutomaticChannels,
  { mode }: Pick<AccountContext, 'mode'>,
): MessageStep[] {
  const channels = [...new Set([first, ...fallback])].filter((channel) => mode === 'test' || set_up.includes(channel));
  return channels.map((channel) => {
    if (channel === 'whatsapp' && template) return { channel, body: '', subject: '', template, fallback_after_seconds };
    return { channel, body, subject, fallback_after_seconds };
  });
}
