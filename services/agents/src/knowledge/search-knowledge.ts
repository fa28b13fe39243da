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
    // Words that half of a million passages have, looked for in a collection that has none of them, take a processor of the database for seconds.
    const found = await search(call, 'the search of knowledge', (sql) =>
      searchPassages(sql, account, { query, collections, limit }),
    );
    return { data: found.map(({ exact: _, ...result }) => result) };
  },
});
