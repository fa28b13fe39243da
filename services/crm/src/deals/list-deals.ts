import { contactOfAccount } from '@customer-platform/contact-copy';
import * as contract from '@customer-platform/contracts/crm';
import { fewBytes, hasRow, readChanges, readFiltered, readPage, uuidPosition } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { selectPipeline, selectPipelineOfStage } from '../pipelines/pipelines.sql.ts';
import { toDeal } from './deal.ts';
import { type DealFilter, listChangedDeals, listDealRows } from './deals.sql.ts';

export const listDeals = implement(contract.listDeals, {
  async handle(call) {
    const { account, tx, query, now, fail } = call;
    const { pipeline, stage, status, updated_since: since } = query;
    const filter: DealFilter = { status };
    if (pipeline !== undefined) {
      if (!(await selectPipeline(tx, account.id, pipeline)))
        return fail('invalid_request', 'pipeline must be the id of a pipeline of this account', 'pipeline');
      filter.scope = { pipelineId: pipeline };
    }
    let isElsewhere = false;
    if (stage !== undefined) {
      const pipelineOfStage = await selectPipelineOfStage(tx, account.id, stage);
      if (pipelineOfStage === undefined)
        return fail('invalid_request', 'stage must be the id of a stage of this account', 'stage');
      filter.scope = { stageId: stage };
      isElsewhere = pipeline !== undefined && pipeline !== pipelineOfStage;
    }
    if (query.contact !== undefined) filter.contactId = (await contactOfAccount(call, query.contact)).id;
    const indexed = [filter.contactId, filter.scope ?? status, since];
    return await readFiltered(call, 'the search of deals', { indexed }, (sql) =>
      since
        ? readChanges({ sql, accountId: account.id, now, since }, query, {
            table: 'deals',
            rows: async (page) => (isElsewhere ? [] : await listChangedDeals(sql, account.id, filter, page)),
            bytes: fewBytes,
            item: (row) => toDeal(row, account.timezone),
          })
        : readPage(query, {
            position: uuidPosition((id) => hasRow(sql, 'deals', account.id, id)),
            rows: async (after, limit) =>
              isElsewhere ? [] : await listDealRows(sql, account.id, filter, { after, limit }),
            bytes: fewBytes,
            item: (row) => toDeal(row, account.timezone),
            cursor: 'id',
          }),
    );
  },
});
