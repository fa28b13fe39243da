import type { WorkflowVersion } from '@customer-platform/contracts/agents';
import { formatInstant } from '@customer-platform/service-kit';
import type { VersionRow } from './workflow.sql.ts';

/** Returns a workflow version as the API shows it, without a publisher: API keys belong to no person. */
export function toVersion(row: VersionRow, timezone: string): WorkflowVersion {
  return { ...row, by: null, at: formatInstant(row.at, timezone) };
}
