import type { WorkflowVersion } from '@customer-platform/contracts/agents';
import { ApiError } from '@customer-platform/contracts/core';
import { formatInstant } from '@customer-platform/service-kit';
import type { AgentRow } from '../agents/agents.sql.ts';
import type { VersionRow } from './workflow.sql.ts';

/** Maximum versions of an agent: each has its blocks, and is kept. */
const maxVersions = 1_000;

/** Refuses one more version of an agent that has as many as it may. Throws 409 invalid_state. */
export function refuseMoreVersions({ last_version }: Pick<AgentRow, 'last_version'>): void {
  if (last_version < maxVersions) return;
  throw new ApiError('invalid_state', `A workflow has at most ${maxVersions} versions; make another agent for more`);
}

/** Returns a workflow version as the API shows it, without a publisher: API keys belong to no person. */
export function toVersion(row: VersionRow, timezone: string): WorkflowVersion {
  return { ...row, by: null, at: formatInstant(row.at, timezone) };
}
