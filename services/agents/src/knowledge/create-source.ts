import * as contract from '@customer-platform/contracts/agents';
import { ApiError } from '@customer-platform/contracts/core';
import type { TargetGuard } from '@customer-platform/outbound';
import { implement } from '../implement.ts';
import { collectionOf } from './collection.ts';
import { asTitle, titleTaken, toSource } from './source.ts';
import { insertSource, type NewSource, selectSource } from './sources.sql.ts';
import { websiteOf } from './website.ts';

export const createSource = implement(contract.createSource, {
  async handle({ account, tx, body, now, resources }) {
    const values = await valuesOf(body, resources.guard);
    const { id: collection_id } = await collectionOf(tx, account.id, body.collection);
    const id = await insertSource(tx, account.id, { ...values, collection_id, active: body.active }, now);
    if (id === undefined) throw body.kind === 'website' ? urlTaken() : titleTaken(body.kind);
    return toSource((await selectSource(tx, account.id, id))!, account.timezone);
  },
  committed: ({ sourceReader }) => sourceReader.wake(),
});

/** Returns the fields of the source's kind and ignores the body's fields of other kinds. */
async function valuesOf(
  body: contract.SourceInput,
  guard: TargetGuard,
): Promise<Omit<NewSource, 'collection_id' | 'active'>> {
  const { kind, alternates = [], answer_exactly = false, crawl = 'page', refresh = 'never' } = body;
  // The contract has validated the required fields of each kind.
  if (kind === 'website') return { kind, crawl, refresh, ...(await websiteOf(body.url!, body.pages, guard)) };
  const common = { title: asTitle(body.title!), body: body.body! };
  return kind === 'faq' ? { kind, ...common, alternates, answer_exactly } : { kind, ...common };
}

function urlTaken(): ApiError {
  return new ApiError('invalid_request', 'url must be unique; this website is already a source', { field: 'url' });
}
