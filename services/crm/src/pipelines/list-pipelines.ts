import * as contract from '@customer-platform/contracts/crm';
import { fewBytes, integerCursor, readPage } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { ensureDefaultPipeline, listPipelineRows, selectPipeline } from './pipelines.sql.ts';

export const listPipelines = implement(contract.listPipelines, {
  handle: ({ account, tx, query }) =>
    readPage(query, {
      position: (cursor) => selectPipeline(tx, account.id, integerCursor(cursor)),
      rows: async (last, limit) => {
        const rows = await listPipelineRows(tx, account.id, last?.id ?? 0, limit);
        if (rows.length > 0 || last) return rows;
        await ensureDefaultPipeline(tx, account.id);
        return await listPipelineRows(tx, account.id, 0, limit);
      },
      bytes: fewBytes,
      item: (row) => row,
      cursor: 'id',
    }),
});
