import type { AccountContext } from '@customer-platform/contracts/core';
import type { Channel, WhatsAppTemplate } from '@customer-platform/contracts/messaging';
import { providers } from '../providers/all.ts';
import type { AutomaticChannels } from '../settings/settings.sql.ts';
import type { Step } from './message-state.ts';

/** Content of an automatic message. WhatsApp sends the template if given. */
export interface AutomaticContent {
  subject: string;
  body: string;
  template?: WhatsAppTemplate | undefined;
}

/**
 * Returns the steps of an automatic message: the requested channel, then those of the settings, each once. Skips
 * channels that a live account has not set up; a sandbox has all. If a provider sends no receipts, such as a mail
 * server, only a failure leads to the next channel. Otherwise every recipient would get the message twice.
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
