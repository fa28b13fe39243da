import type { WorkflowVersion } from '@customer-platform/contracts/agents';
import { ApiError } from '@customer-platform/contracts/core';
import { formatInstant } from '@customer-platform/service-kit';
import type { AgentRow } from '../agents/agents.sql.ts';
import type { VersionRow } from './workflow.sql.ts';

/** Maximum versions of an agent. Each stores its blocks and is never deleted. */
const maxVersions = 1_000;

/** Throws 409 invalid_state if the agent already has the maximum number of versions. */
export function refuseMoreVersions({ last_version }: Pick<AgentRow, 'last_version'>): void {
  if (last_version < maxVersions) return;
  throw new ApiError('invalid_state', `A workflow has at most ${maxVersions} versions; create another agent for more`);
}

/** Returns a workflow version as the API shows it. The publisher is null, since API keys do not belong to a person. */
export function toVersion(row: VersionRow, timezone: string): WorkflowVersion {
  return { ...row, by: null, at: formatInstant(row.at, timezone) };
}
