import type { Contact } from '@customer-platform/contracts/cdp';
import type { AccountContext } from '@customer-platform/contracts/core';
import { type Channel, channel } from '@customer-platform/contracts/messaging';

/** Returns the rule for a channel, as part of an error message. */
export function channelRule(reachable: readonly Channel[]): string {
  const names = reachable.length === 0 ? 'there is none' : reachable.join(', ');
  return `must be one that is set up and reaches the contact: ${names}`;
}

/** Returns the channels that are set up (all are in a sandbox) and for which the contact has an address. */
export function reachableChannels(
  { mode }: AccountContext,
  { phone, email }: Contact,
  setUp: readonly Channel[],
): Channel[] {
  const usable = mode === 'test' ? channel.options : setUp;
  return channel.options.filter((one) => usable.includes(one) && (one === 'email' ? email : phone));
}
