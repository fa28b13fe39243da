import type { Contact } from '@customer-platform/contracts/cdp';
import type { AccountContext } from '@customer-platform/contracts/core';
import { type Channel, channel } from '@customer-platform/contracts/messaging';

/** The rule for a channel, as a refusal says it. */
export function channelRule(reachable: readonly Channel[]): string {
  const names = reachable.length === 0 ? 'there is none' : reachable.join(', ');
  return `must be one that is set up and reaches the contact: ${names}`;
}

/** The channels that reach a contact: of those that are set up (in a sandbox all are) the ones it has an address for. */
export function reachableChannels(
  { mode }: AccountContext,
  { phone, email }: Contact,
  setUp: readonly Channel[],
): Channel[] {
  const usable = mode === 'test' ? channel.options : setUp;
  return channel.options.filter((one) => usable.includes(one) && (one === 'email' ? email : phone));
}
