import { type AuditEntry, adminOperations } from '@customer-platform/contracts/accounts';
import { fewBytes, formatInstant, readPage, uuidPosition } from '@customer-platform/service-kit';
import { type AuditRow, hasChange, selectChanges } from '../audit/audit.sql.ts';
import { implement } from './admin-operation.ts';

/** Time after which a change without a reply is listed. Longer than any timeout of a change. */
const unsettledMs = 60_000;

/** Lists the changes that operators and keys made, newest first. */
export const listAudit = implement(adminOperations.listAudit, {
  async handle({ tx, query, now }) {
    const certainSince = new Date(now.getTime() - unsettledMs);
    return await readPage(query, {
      position: uuidPosition((id) => hasChange(tx, id)),
      rows: (after, limit) => selectChanges(tx, query, { after, limit, certainSince }),
      bytes: fewBytes,
      item: toEntry,
      cursor: 'id',
    });
  },
});

function toEntry({ at, ...row }: AuditRow): AuditEntry {
  return { ...row, at: formatInstant(at, 'UTC') };
}
