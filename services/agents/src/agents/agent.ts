import type { Agent } from '@customer-platform/contracts/agents';
import { ApiError } from '@customer-platform/contracts/core';
import { formatInstant } from '@customer-platform/service-kit';
import type { AgentRow } from './agents.sql.ts';

/** Returns an agent as the API shows it. */
export function toAgent(row: AgentRow, timezone: string): Agent {
  const { id, name, role, status, daily_limit, approval_mode, approval_timeout_seconds, actions, collections } = row;
  return {
    id,
    name,
    role,
    status,
    model: row.used_model,
    daily_limit,
    approval_mode,
    approval_timeout_seconds,
    pipelines: row.pipelines.map((pipeline) => pipeline.id),
    actions,
    collections,
    live_version: row.live_version,
    created_at: formatInstant(row.created_at, timezone),
  };
}

/** Throws invalid_state if the agent was deleted and is kept only for its history. */
export function refuseArchived(agent: AgentRow): void {
  if (agent.status !== 'archived') return;
  throw new ApiError('invalid_state', `The agent ${agent.name} was deleted; its activity can be read but not changed`);
}
