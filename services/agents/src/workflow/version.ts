import type { WorkflowVersion } from '@customer-platform/contracts/agents';
import { formatInstant } from '@customer-platform/service-kit';
import type { VersionRow } from './workflow.sql.ts';

/** A workflow version as the API shows it. Nobody is named as who published it: keys of the API are nobody's. */
export function toVersion(row: VersionRow, timezone: string): WorkflowVersion {
  return { ...row, by: null, at: formatInstant(row.at, timezone) };
}
