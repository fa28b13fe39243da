import { dealStageChanged, moveDealToStage } from '@customer-platform/contracts/crm';
import { handleRequest } from '@customer-platform/service-kit';
import { lockStage } from '../pipelines/pipelines.sql.ts';
import { changeWhenAsked } from './change-when-asked.ts';

export const handleMoveDealToStage = handleRequest(moveDealToStage, (call, asked) =>
  changeWhenAsked(call, asked, dealStageChanged, async (deal, tx, now) => {
    if (deal.status !== 'open') return `The deal is ${deal.status}`;
    const stage = await lockStage(tx, call.accountId, { pipeline: deal.pipeline_id, stage: asked.stage });
    if (!stage) return `The pipeline ${deal.pipeline_name} has no such stage`;
    return stage.stage_id === deal.stage_id ? {} : { ...stage, stage_entered_at: now };
  }),
);
