import { dealStageChanged, moveDealToStage } from '@customer-platform/contracts/crm';
import { handleRequest } from '@customer-platform/service-kit';
import { holdPlace } from '../pipelines/pipelines.sql.ts';
import { changeWhenAsked } from './change-when-asked.ts';

export const handleMoveDealToStage = handleRequest(moveDealToStage, (call, asked) =>
  changeWhenAsked(call, asked, dealStageChanged, async (deal, tx, now) => {
    if (deal.status !== 'open') return `The deal is ${deal.status}`;
    const place = await holdPlace(tx, call.accountId, { pipeline: deal.pipeline_id, stage: asked.stage });
    if (!place) return `The pipeline ${deal.pipeline_name} has no such stage`;
    return place.stage_id === deal.stage_id ? {} : { ...place, stage_entered_at: now };
  }),
);
