import * as contract from '@customer-platform/contracts/agents';
import type { PlanOutcome } from './plan-state.ts';

/** Events by outcome. */
export const planEvents = {
  awaiting_approval: contract.planAwaitingApproval,
  approved: contract.planApproved,
  rejected: contract.planRejected,
  expired: contract.planExpired,
  completed: contract.planCompleted,
  failed: contract.planFailed,
} as const satisfies Record<PlanOutcome, unknown>;
