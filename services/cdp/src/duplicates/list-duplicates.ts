import * as contract from '@customer-platform/contracts/cdp';
import { badCursor, integerCursor, toPage } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { toDuplicatePair } from './duplicate.ts';
import { isDuplicate, selectOpenDuplicates } from './duplicates.sql.ts';

export const listDuplicates = implement(contract.listDuplicates, {
  async handle({ account, query, tx }) {
    const { limit, reason, starting_after: cursor } = query;
    const after = cursor === undefined ? undefined : integerCursor(cursor);
    if (after !== undefined && !(await isDuplicate(tx, account.id, after))) throw badCursor();
    const rows = await selectOpenDuplicates(tx, account.id, reason, after, limit + 1);
    return toPage(rows, limit, toDuplicatePair, (row) => row.id);
  },
});
