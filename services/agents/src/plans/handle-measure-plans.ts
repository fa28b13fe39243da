import { measurePlans } from '@customer-platform/contracts/agents';
import { dayMs, handleRequest } from '@customer-platform/service-kit';
import { measureFailed } from './plans.sql.ts';

/** Returns the number of an account's plans that failed in the last 24 hours, for operators. */
export const handleMeasurePlans = handleRequest(
  measurePlans,
  async ({ sql, now }, { account }) => await measureFailed(sql, account, new Date(now.getTime() - dayMs)),
);
