import { findPlaces } from '@customer-platform/contracts/crm';
import { answerRequest } from '@customer-platform/service-kit';
import { selectPlaces } from './pipelines.sql.ts';

export const answerFindPlaces = answerRequest(findPlaces, ({ sql, accountId }, { pipelines, stages }) =>
  selectPlaces(sql, accountId, pipelines, stages),
);
