import * as contract from '@customer-platform/contracts/agents';
import { implement } from '../implement.ts';
import { toCollection } from './collection.ts';
import { ensureGeneralCollection, insertCollection } from './collections.sql.ts';

export const createCollection = implement(contract.createCollection, {
  async handle({ account, tx, body, fail }) {
    const name = body.name.trim();
    if (name === '') return fail('invalid_request', 'name must not be blank', 'name');
    // General gets the lowest id, even if the account's first request creates another one.
    await ensureGeneralCollection(tx, account.id);
    const row = await insertCollection(tx, account.id, name);
    if (!row) return fail('invalid_request', `name must be unique; a collection named ${name} already exists`, 'name');
    return toCollection(row);
  },
});
