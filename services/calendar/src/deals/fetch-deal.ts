import { getDealSummary } from '@customer-platform/contracts/crm';
import type { PrefetchCall } from '@customer-platform/service-kit';
import { insertDeal } from './deals.sql.ts';

/** Returns prefetch work that requests a missing deal from Pipelines and stores it. */
export function fetchDeal(id: string): (call: PrefetchCall) => Promise<void> {
  return async ({ account, onConnection, ask }) => {
    const { deal } = await ask(getDealSummary, { deal: id });
    if (deal) await onConnection((sql) => insertDeal(sql, account.id, id));
  };
}
