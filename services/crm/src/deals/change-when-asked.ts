import type { dealStageChanged, dealUpdated } from '@customer-platform/contracts/crm';
import type { RequestCall, Sql } from '@customer-platform/service-kit';
import { changeDeal } from './change-deal.ts';
import { type DealRow, isTaken, lockDeal, takeKey } from './deals.sql.ts';

/**
 * Changes a deal as another service asked, once for each key, and emits the event of it. `valuesOf` answers what the deal gets, or why
 * it cannot, as a sentence; what is refused may be asked again with its key.
 */
export async function changeWhenAsked(
  { accountId, change }: RequestCall<unknown>,
  asked: { key: string; deal: string },
  event: typeof dealUpdated | typeof dealStageChanged,
  valuesOf: (deal: DealRow, tx: Sql, now: Date) => Promise<Partial<DealRow> | string>,
): Promise<{ refusal: string | null }> {
  return await change(async ({ tx, now, emit, findAccounts }) => {
    const account = findAccounts([accountId]).get(accountId);
    if (!account) throw new Error(`there is no account ${accountId}`);
    const found = await lockDeal(tx, accountId, asked.deal);
    if (await isTaken(tx, accountId, asked.key)) return { refusal: null };
    if (!found) return { refusal: 'The deal no longer exists' };
    const values = await valuesOf(found, tx, now);
    if (typeof values === 'string') return { refusal: values };
    await takeKey(tx, accountId, asked.key, now);
    const { deal, previous } = await changeDeal(tx, account, found, values, now);
    if (previous) emit(event, account, { deal, previous });
    return { refusal: null };
  });
}
