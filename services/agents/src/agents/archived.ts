import { ApiError } from '@customer-platform/contracts/core';
import type { AgentRow } from './agents.sql.ts';

/** Throws invalid_state if the agent was deleted and is only kept for its history. */
export function refuseArchived(agent: AgentRow): void {
  if (agent.status !== 'archived') return;
  throw new ApiError('invalid_state', `The agent ${agent.name} was deleted; its activity can be read but not changed`);
}
