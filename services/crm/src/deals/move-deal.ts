import * as contract from '@customer-platform/contracts/crm';
import { implement } from '../implement.ts';
import { lockStage } from '../pipelines/pipelines.sql.ts';
import { changeDeal } from './change-deal.ts';
import { toDeal } from './deal.ts';
import { lockDeal } from './deals.sql.ts';

export const moveDeal = implement(contract.moveDeal, {
  find: ({ account, tx, params }) => lockDeal(tx, account.id, params.deal_id),
  async handle({ account, tx, body, found, now, emit, fail }) {
    const stage = await lockStage(tx, account.id, { pipeline: found.pipeline_id, stage: body.stage });
    if (!stage)
      return fail('invalid_request', `stage must be the id of a stage of the pipeline ${found.pipeline_name}`, 'stage');
    if (found.status !== 'open')
      return fail('invalid_state', `The deal is ${found.status}; reopen it before you move it`);
    if (stage.stage_id === found.stage_id) return toDeal(found, account.timezone);
    const change = await changeDeal({ account, tx, found, now }, { ...stage, stage_entered_at: now });
    emit(contract.dealStageChanged, change);
    return change.deal;
  },
});
