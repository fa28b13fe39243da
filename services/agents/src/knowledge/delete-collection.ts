import * as contract from '@customer-platform/contracts/agents';
import { implement } from '../implement.ts';
import { deleteCollectionRow, hasSources, lockCollection } from './collections.sql.ts';

export const deleteCollection = implement(contract.deleteCollection, {
  find: ({ account, tx, params }) => lockCollection(tx, account.id, params.collection_id),
  async handle({ account, tx, found, fail }) {
    const { id, name, is_general: isGeneral } = found;
    if (isGeneral)
      return fail('invalid_state', 'The collection General cannot be deleted; it is the default for new sources');
    if (await hasSources(tx, account.id, id)) {
      return fail('invalid_state', `The collection ${name} has sources; move or delete them first`);
    }
    await deleteCollectionRow(tx, account.id, id);
    return undefined;
  },
});
