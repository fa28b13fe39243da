import { contactConsumer, restoredContactConsumer, unmergedContactConsumer } from '@customer-platform/contact-copy';
import type * as contract from '@customer-platform/contracts/crm';
import { baseConfig, type ServiceDefinition } from '@customer-platform/service-kit';
import { createDeal } from './deals/create-deal.ts';
import { deleteDeal } from './deals/delete-deal.ts';
import { forgetProcessedKeys } from './deals/forget-processed-keys.ts';
import { getDeal } from './deals/get-deal.ts';
import { handleAddDealNote } from './deals/handle-add-deal-note.ts';
import { handleFindOpenDeal } from './deals/handle-find-open-deal.ts';
import { handleGetDealSummary } from './deals/handle-get-deal-summary.ts';
import { handleMoveDealToStage } from './deals/handle-move-deal-to-stage.ts';
import { listDeals } from './deals/list-deals.ts';
import { loseDeal } from './deals/lose-deal.ts';
import { moveDeal } from './deals/move-deal.ts';
import { reopenDeal } from './deals/reopen-deal.ts';
import { updateDeal } from './deals/update-deal.ts';
import { winDeal } from './deals/win-deal.ts';
import { createPipeline } from './pipelines/create-pipeline.ts';
import { deletePipeline } from './pipelines/delete-pipeline.ts';
import { getPipeline } from './pipelines/get-pipeline.ts';
import { handleFindStages } from './pipelines/handle-find-stages.ts';
import { listPipelines } from './pipelines/list-pipelines.ts';
import { updatePipeline } from './pipelines/update-pipeline.ts';

/** Pipelines: an account's deals and the stages through which they move. */
export const crm: ServiceDefinition<typeof contract> = {
  name: 'crm',
  config: baseConfig,
  migrations: new URL('../migrations/', import.meta.url),
  operations: {
    listPipelines,
    createPipeline,
    getPipeline,
    updatePipeline,
    deletePipeline,
    listDeals,
    createDeal,
    getDeal,
    updateDeal,
    deleteDeal,
    moveDeal,
    winDeal,
    loseDeal,
    reopenDeal,
  },
  requests: {
    getDealSummary: handleGetDealSummary,
    findOpenDeal: handleFindOpenDeal,
    addDealNote: handleAddDealNote,
    moveDealToStage: handleMoveDealToStage,
    findStages: handleFindStages,
  },
  consumers: [contactConsumer, restoredContactConsumer('deals'), unmergedContactConsumer],
  jobs: [forgetProcessedKeys],
};
