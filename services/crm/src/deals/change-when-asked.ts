import type { dealStageChanged, dealUpdated } from '@customer-platform/contracts/crm';
import type { RequestCall, Sql } from '@customer-platform/service-kit';
import { changeDeal } from './change-deal.ts';
import { type DealRow, insertProcessedKey, isProcessed, lockDeal } from './deals.sql.ts';

/**
 * Changes a deal on another service's request, such as an agent's step, once per idempotency key, and emits the event. `valuesOf` returns
 * the new values, or a sentence saying why the change is refused. A refused request may be repeated with the same key.
 */
export async function changeWhenAsked(
  { accountId, change }: RequestCall<unknown>,
  asked: { key: string; deal: string },
  event: typeof dealUpdated | typeof dealStageChanged,
  valuesOf: (deal: DealRow, tx: Sql, now: Date) => Promise<Partial<DealRow> | string>,
): Promise<{ refusal: string | null }> {
  return await change(async ({ tx, now, emit, findAccounts }) => {
    const account = findAccounts([accountId]).get(accountId);
    if (!account) throw new Error(`account ${accountId} does not exist`);
    const found = await lockDeal(tx, accountId, asked.deal);
    if (await isProcessed(tx, accountId, asked.key)) return { refusal: null };
    if (!found) return { refusal: 'The deal no longer exists' };
    const values = await valuesOf(found, tx, now);
    if (typeof values === 'string') return { refusal: values };
    await insertProcessedKey(tx, accountId, asked.key, now);
    const { deal, previous } = await changeDeal({ account, tx, found, now }, values);
    if (previous) emit(event, account, { deal, previous });
    return { refusal: null };
  });
}
