import * as contract from '@customer-platform/contracts/agents';
import { implement } from '../implement.ts';
import { toBeRead, toSource } from './source.ts';
import { lockSource, updateSourceRow } from './sources.sql.ts';

export const refreshSource = implement(contract.refreshSource, {
  find: ({ account, tx, params }) => lockSource(tx, account.id, params.source_id),
  async handle({ account, tx, found, now }) {
    if (found.status === 'processing') return toSource(found, account.timezone);
    const after = { ...toBeRead(found, now), updated_at: now };
    await updateSourceRow(tx, account.id, after);
    return toSource(after, account.timezone);
  },
  committed: ({ sourceReader }) => sourceReader.wake(),
});
