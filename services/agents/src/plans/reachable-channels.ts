import type { Contact } from '@customer-platform/contracts/cdp';
import type { AccountContext } from '@customer-platform/contracts/core';
import { type Channel, channel } from '@customer-platform/contracts/messaging';

/** Returns the rule for a channel, as the end of an error message. */
export function channelRule(reachable: readonly Channel[]): string {
  const names = reachable.length === 0 ? 'there is none' : reachable.join(', ');
  return `must be one that is set up and reaches the contact: ${names}`;
}

/** Returns the channels that are set up and reach the contact, by its address or because it wrote on them. A sandbox has all channels. */
export function reachableChannels(
  { mode }: AccountContext,
  { phone, email }: Contact,
  { channels, written_on }: { channels: readonly Channel[]; written_on: readonly Channel[] },
): Channel[] {
  const usable = mode === 'test' ? channel.options : channels;
  return channel.options.filter(
    (one) => usable.includes(one) && (one === 'email' ? email : phone || written_on.includes(one)),
  );
}
