import { measurePlans } from '@customer-platform/contracts/agents';
import { dayMs, handleRequest } from '@customer-platform/service-kit';
import { measureFailed } from './plans.sql.ts';

/** Returns to operators how many of an account's plans failed in the last day. */
export const handleMeasurePlans = handleRequest(
  measurePlans,
  async ({ sql, now }, { account }) => await measureFailed(sql, account, new Date(now.getTime() - dayMs)),
);
