import * as contract from '@customer-platform/contracts/agents';
import { implement } from '../implement.ts';
import { refuseUnknownCollection } from './collection.ts';
import { searchPassages } from './search.ts';

export const searchKnowledge = implement(contract.searchKnowledge, {
  async handle({ account, tx, body }) {
    const { query, collection, limit } = body;
    await refuseUnknownCollection(tx, account.id, collection);
    const collections = collection === undefined ? [] : [collection];
    const found = await searchPassages(tx, account, { query, collections, limit });
    return { data: found.map(({ exact: _, ...result }) => result) };
  },
});
