import type { dismissDuplicate } from '@customer-platform/contracts/cdp';
import type { ResponseOf } from '@customer-platform/contracts/core';
import { toSummary } from '../contacts/contact.ts';
import type { DuplicateRow } from './duplicates.sql.ts';

/** Returns a pair as the API shows it. */
export function toDuplicatePair(row: DuplicateRow): ResponseOf<typeof dismissDuplicate> {
  const { id, reason, detail, score } = row;
  const older = toSummary({ id: row.older_id, name: row.older_name, phone: row.older_phone });
  const newer = toSummary({ id: row.newer_id, name: row.newer_name, phone: row.newer_phone });
  return { id, contacts: [older, newer], reason, detail, score };
}

/** Returns the error message for a pair that is already merged or dismissed. */
export function decidedAlready({ status }: DuplicateRow): string {
  return `The pair was already ${status}; only an open pair can be decided`;
}
