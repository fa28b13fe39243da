import { contactConsumer } from '@customer-platform/contact-copy';
import { baseConfig, runProcess, type ServiceDefinition, startService } from '@customer-platform/service-kit';
import { answerGetDealSummary } from './deals/answer-get-deal-summary.ts';
import { createDeal } from './deals/create-deal.ts';
import { deleteDeal } from './deals/delete-deal.ts';
import { getDeal } from './deals/get-deal.ts';
import { listDeals } from './deals/list-deals.ts';
import { loseDeal } from './deals/lose-deal.ts';
import { moveDeal } from './deals/move-deal.ts';
import { reopenDeal } from './deals/reopen-deal.ts';
import { updateDeal } from './deals/update-deal.ts';
import { winDeal } from './deals/win-deal.ts';
import { createPipeline } from './pipelines/create-pipeline.ts';
import { deletePipeline } from './pipelines/delete-pipeline.ts';
import { getPipeline } from './pipelines/get-pipeline.ts';
import { listPipelines } from './pipelines/list-pipelines.ts';
import { updatePipeline } from './pipelines/update-pipeline.ts';

export const crm: ServiceDefinition<typeof baseConfig, undefined> = {
  name: 'crm',
  config: baseConfig,
  migrations: new URL('../migrations/', import.meta.url),
  operations: [
    ...[listPipelines, createPipeline, getPipeline, updatePipeline, deletePipeline],
    ...[listDeals, createDeal, getDeal, updateDeal, deleteDeal],
    ...[moveDeal, winDeal, loseDeal, reopenDeal],
  ],
  requests: [answerGetDealSummary],
  consumers: [contactConsumer],
};

if (import.meta.main) await runProcess(() => startService(crm, process.env));
