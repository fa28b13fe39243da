import * as contract from '@customer-platform/contracts/agents';
import { implement } from '../implement.ts';
import { removePassages } from './passages.sql.ts';
import { deleteSourceRow, lockSource } from './sources.sql.ts';

export const deleteSource = implement(contract.deleteSource, {
  find: ({ account, tx, params }) => lockSource(tx, account.id, params.source_id),
  async handle({ account, tx, found }) {
    await removePassages(tx, account.id, found.id);
    await deleteSourceRow(tx, account.id, found.id);
    return undefined;
  },
});
