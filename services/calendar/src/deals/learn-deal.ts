import { getDealSummary } from '@customer-platform/contracts/crm';
import type { PrefetchCall } from '@customer-platform/service-kit';
import { insertDeal } from './deals.sql.ts';

/** Returns a prefetch that asks Pipelines for a deal that the copy does not have, and records it. */
export function learnDeal(id: string): (call: PrefetchCall) => Promise<void> {
  return async ({ account, onConnection, ask }) => {
    const { deal } = await ask(getDealSummary, { deal: id });
    if (deal) await onConnection((sql) => insertDeal(sql, account.id, id));
  };
}
