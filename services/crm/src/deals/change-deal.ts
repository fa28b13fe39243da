import type { Deal } from '@customer-platform/contracts/crm';
import type { Sql } from '@customer-platform/service-kit';
import { toDeal } from './deal.ts';
import { type DealRow, updateDealRow } from './deals.sql.ts';

/**
 * Gives a locked deal other values. Answers what the change's event says: the deal after it, and the former values of what it
 * replaced, undefined where it replaced nothing; then nothing is written.
 */
export async function changeDeal(
  tx: Sql,
  account: { id: string; timezone: string },
  found: DealRow,
  values: Partial<DealRow>,
  now: Date,
): Promise<{ deal: Deal; previous: Record<string, unknown> | undefined }> {
  const former = toDeal(found, account.timezone);
  const after = { ...found, ...values };
  const current = toDeal(after, account.timezone);
  const replaced = Object.entries(former).filter(
    ([name, value]) => JSON.stringify(current[name as keyof Deal]) !== JSON.stringify(value),
  );
  if (replaced.length === 0) return { deal: former, previous: undefined };
  after.updated_at = now;
  await updateDealRow(tx, account.id, after);
  return { deal: toDeal(after, account.timezone), previous: Object.fromEntries(replaced) };
}
