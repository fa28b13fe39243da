import * as contract from '@customer-platform/contracts/crm';
import { badCursor, integerCursor, toPage } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { listPipelineRows, openPipelines, selectPipeline } from './pipelines.sql.ts';

export const listPipelines = implement(contract.listPipelines, {
  async handle({ account, tx, query }) {
    const { limit, starting_after: cursor } = query;
    const last = cursor === undefined ? null : await selectPipeline(tx, account.id, integerCursor(cursor));
    if (last === undefined) throw badCursor();
    let rows = await listPipelineRows(tx, account.id, last?.id ?? 0, limit + 1);
    if (rows.length === 0 && last === null) {
      await openPipelines(tx, account.id);
      rows = await listPipelineRows(tx, account.id, 0, limit + 1);
    }
    return toPage(
      rows,
      limit,
      (row) => row,
      (row) => row.id,
    );
  },
});
