import { findStages } from '@customer-platform/contracts/crm';
import { handleRequest } from '@customer-platform/service-kit';
import { selectPlaces } from './pipelines.sql.ts';

export const handleFindStages = handleRequest(findStages, ({ sql, accountId }, { pipelines, stages }) =>
  selectPlaces(sql, accountId, pipelines, stages),
);
