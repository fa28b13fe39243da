import { findStages } from '@customer-platform/contracts/crm';
import { handleRequest } from '@customer-platform/service-kit';
import { selectPipelinesAndStages } from './pipelines.sql.ts';

export const handleFindStages = handleRequest(findStages, ({ sql, accountId }, asked) =>
  selectPipelinesAndStages(sql, accountId, asked),
);
