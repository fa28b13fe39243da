import type { Consent } from '@customer-platform/contracts/cdp';
import { formatInstant } from '@customer-platform/service-kit';
import type { ConsentRow } from './consents.sql.ts';

/** Returns a consent as the API shows it. */
export function toConsent(row: ConsentRow, timezone: string): Consent {
  return { ...row, at: formatInstant(row.at, timezone), created_at: formatInstant(row.created_at, timezone) };
}
