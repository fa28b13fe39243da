import * as contract from '@customer-platform/contracts/agents';
import { search } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { refuseUnknownCollection } from './collection.ts';
import { searchPassages } from './search.ts';

export const searchKnowledge = implement(contract.searchKnowledge, {
  async handle(call) {
    const { account, tx, body } = call;
    const { query, collection, limit } = body;
    await refuseUnknownCollection(tx, account.id, collection);
    const collections = collection === undefined ? [] : [collection];
    // A search for words in half of a million passages, none in the given collection, takes seconds of database CPU.
    const found = await search(call, 'the search of knowledge', (sql) =>
      searchPassages(sql, account, { query, collections, limit }),
    );
    return { data: found.map(({ exact: _, ...result }) => result) };
  },
});
