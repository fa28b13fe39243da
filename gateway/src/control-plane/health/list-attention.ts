import { adminOperations, type CustomerAttention } from '@customer-platform/contracts/accounts';
import { findTroubledAccounts } from '@customer-platform/contracts/messaging';
import { customerLimits } from '@customer-platform/contracts/operators';
import { listAllEndpoints } from '@customer-platform/contracts/webhooks';
import { dayMs, formatInstant, isUnavailable, type Sql } from '@customer-platform/service-kit';
import { selectNames } from '../../accounts/accounts.sql.ts';
import type { InvalidKeys } from '../../limits/invalid-keys.ts';
import { selectRefused } from '../../traffic/traffic.sql.ts';
import { implement } from '../admin-operation.ts';
import { toOperatedEndpoint } from '../endpoints/endpoint-shape.ts';
import { toTimestamp } from '../queues/queue-shape.ts';
import { askOrGone, goneOf } from '../services.ts';

const hourMs = 3_600_000;
const limit = 100;
const { failedMessages, refusedShare, minRequests } = customerLimits;
/** Addresses with more invalid keys in a minute need attention. */
const maxInvalidKeys = 100;

type TroubledAccount = CustomerAttention['accounts'][number];

/** Lists problems of customers that need attention. */
export const listAttention = implement(adminOperations.listAttention, {
  async handle({ tx, now, resources: { bus, invalidKeys } }) {
    const [messaging, webhooks, addresses] = await Promise.all([
      askOrGone(bus, findTroubledAccounts, { failed: failedMessages }),
      askOrGone(bus, listAllEndpoints, { disabled_since: new Date(now.getTime() - dayMs).toISOString(), limit }),
      addressesOf(invalidKeys),
    ]);
    const accounts = await accountsOf(tx, messaging?.accounts ?? [], now);
    const channels = messaging?.channels ?? [];
    // Processes of the previous release also return enabled endpoints.
    const endpoints = (webhooks?.endpoints ?? []).filter((one) => one.disabled_reason !== null);
    const ids = [...accounts, ...channels, ...endpoints].map(({ account }) => account);
    const names = await selectNames(tx, ids);
    // Entries without an account come from a database that was restored to another time.
    const named = <Item extends { account: string }>(items: readonly Item[]) =>
      items.flatMap((item) => {
        const account_name = names.get(item.account);
        return account_name === undefined ? [] : [{ ...item, account_name }];
      });
    return {
      channels: named(channels).map((channel) => ({ ...channel, failing_since: toTimestamp(channel.failing_since) })),
      accounts: named(accounts).slice(0, limit),
      endpoints: named(endpoints.map(toOperatedEndpoint)),
      addresses,
      gone: await goneOf(bus, { messaging, webhooks }),
    };
  },
});

/** Returns the accounts with failed messages, then the accounts with refused requests. Each account has both counts. */
async function accountsOf(
  tx: Sql,
  failed: readonly { account: string; failed: number }[],
  now: Date,
): Promise<Omit<TroubledAccount, 'account_name'>[]> {
  const rows = await selectRefused(tx, new Date(now.getTime() - hourMs), {
    accounts: failed.map(({ account }) => account),
    share: refusedShare,
    minRequests,
    limit,
  });
  const traffic = new Map(rows.map((row) => [row.account, row]));
  const ofMessages = new Map(failed.map((one) => [one.account, one.failed]));
  return [...new Set([...ofMessages.keys(), ...traffic.keys()])].map((account) => {
    const { requests = 0, refused = 0, off = 0, isRefused = false } = traffic.get(account) ?? {};
    const failed_messages = ofMessages.get(account) ?? 0;
    const reasons: TroubledAccount['reasons'] = failed_messages > failedMessages ? ['messages'] : [];
    if (isRefused) reasons.push(off > refused / 2 ? 'modules' : 'refusals');
    return { account, failed_messages, requests, refused, reasons };
  });
}

/** Returns the addresses with too many invalid keys in a minute. Empty while Redis, which stores the counts, is unavailable. */
async function addressesOf(invalidKeys: InvalidKeys): Promise<CustomerAttention['addresses']> {
  const listed = await invalidKeys.list().catch((error: unknown) => {
    if (isUnavailable(error)) return [];
    throw error;
  });
  const found = listed.filter(({ maxPerMinute }) => maxPerMinute > maxInvalidKeys).slice(0, limit);
  return found.map(({ address, invalidKeys: invalid_keys, lastAtMs }) => ({
    address,
    invalid_keys,
    last_at: formatInstant(new Date(lastAtMs), 'UTC'),
  }));
}
