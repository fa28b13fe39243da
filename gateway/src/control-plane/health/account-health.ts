import { type AccountHealth, adminOperations } from '@customer-platform/contracts/accounts';
import { measurePlans } from '@customer-platform/contracts/agents';
import { moduleNames } from '@customer-platform/contracts/core';
import { measureMessages } from '@customer-platform/contracts/messaging';
import { listAllEndpoints } from '@customer-platform/contracts/webhooks';
import { formatInstant, type Sql } from '@customer-platform/service-kit';
import type { z } from 'zod';
import { findAccountRow } from '../../accounts/accounts.sql.ts';
import { endOf, ownRateOf } from '../../keys/change-keys.ts';
import { selectKeysById } from '../../keys/keys.sql.ts';
import { selectMinutes } from '../../traffic/traffic.sql.ts';
import { allAccounts, type KeyUse, p99Ms, sumOf, trafficKeptMs } from '../../traffic/traffic-counter.ts';
import { implement } from '../admin-operation.ts';
import { toOperatedEndpoint } from '../endpoints/endpoint-shape.ts';
import { timestampOrNull, toTimestamp } from '../queues/queue-shape.ts';
import { askOrGone, goneOf } from '../services.ts';

const hourMs = 3_600_000;
/** Maximum endpoints shown, which is more than an account may have. */
const maxEndpoints = 100;
const maxKeys = 50;

/** Lists the requests of an account, or of all accounts, by minute. */
export const listTraffic = implement(adminOperations.listTraffic, {
  async handle({ tx, query: { account }, now, fail }) {
    if (account !== undefined && !(await findAccountRow(tx, account)))
      return fail('not_found', 'No account has this id');
    const rows = await selectMinutes(tx, account ?? allAccounts, new Date(now.getTime() - trafficKeptMs));
    const minutes = Map.groupBy(rows, ({ minute }) => minute.getTime());
    const data = [...minutes].map(([minute, counts]) => {
      const { requests, s2xx, s4xx, s5xx, limited, durations } = sumOf(counts);
      const p99_ms = p99Ms({ requests, durations })!;
      return { minute: formatInstant(new Date(minute), 'UTC'), requests, s2xx, s4xx, s5xx, limited, p99_ms };
    });
    return { data };
  },
});

/** Reports the problems of an account. */
export const getAccountHealth = implement(adminOperations.getAccountHealth, {
  find: ({ tx, params }) => findAccountRow(tx, params.account_id),
  async handle({ tx, found, now, resources: { bus } }) {
    const account = found.account_id;
    const [minutes, messages, endpoints, plans] = await Promise.all([
      selectMinutes(tx, account, new Date(now.getTime() - hourMs)),
      askOrGone(bus, measureMessages, { account }),
      askOrGone(bus, listAllEndpoints, { account, limit: maxEndpoints }),
      askOrGone(bus, measurePlans, { account }),
    ]);
    const { requests, codes, keys } = sumOf(minutes);
    return {
      requests: { last_hour: { total: requests, by_code: codes } },
      rate_limit: { per_minute: found.per_minute, burst: found.burst },
      keys: await toKeys(tx, keys, now),
      messages: {
        failed_24h: messages?.failed.map((group) => ({ ...group, last_at: toTimestamp(group.last_at) })) ?? [],
        channels: messages?.channels.map(toChannel) ?? [],
      },
      endpoints: endpoints?.endpoints.map(toEndpoint) ?? [],
      plans: { failed_24h: plans?.failed ?? 0, last_error: plans?.last_error ?? null },
      modules_off: moduleNames.filter((name) => !found.plan_modules.includes(name) || found.modules_off.includes(name)),
      suspended: found.status === 'suspended',
      gone: await goneOf(bus, { messaging: messages, webhooks: endpoints, agents: plans }),
    };
  },
});

/** Returns the most used keys. */
async function toKeys(tx: Sql, uses: Record<string, KeyUse>, now: Date): Promise<AccountHealth['keys']> {
  const used = Object.entries(uses)
    .sort(([, one], [, other]) => other.requests - one.requests)
    .slice(0, maxKeys);
  const ids = used.map(([id]) => id);
  const rows = new Map((await selectKeysById(tx, ids)).map((row) => [row.id, row]));
  return used.flatMap(([id, use]) => {
    const row = rows.get(id);
    if (!row) return [];
    const end = row.revoked_at ?? endOf(row);
    const ended_at = end && end <= now ? formatInstant(end, 'UTC') : null;
    return [{ id, name: row.name, last4: row.last4, rate_limit: ownRateOf(row), ended_at, ...use }];
  });
}

type MeasuredChannel = z.output<typeof measureMessages.reply>['channels'][number];

function toChannel({
  failing_since,
  held = 0,
  ...channel
}: MeasuredChannel): AccountHealth['messages']['channels'][number] {
  return { ...channel, failing_since: timestampOrNull(failing_since), held };
}

function toEndpoint(endpoint: Parameters<typeof toOperatedEndpoint>[0]): AccountHealth['endpoints'][number] {
  const { id, url, active, paused, disabled_reason, failing_since, pending } = toOperatedEndpoint(endpoint);
  return { id, url, active, paused, disabled_reason, failing_since, pending, failed_24h: endpoint.failed_24h ?? 0 };
}
