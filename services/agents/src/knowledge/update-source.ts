import { isDeepStrictEqual } from 'node:util';
import * as contract from '@customer-platform/contracts/agents';
import { ApiError, type Body } from '@customer-platform/contracts/core';
import type { TargetGuard } from '@customer-platform/outbound';
import { applyPatch, brokenConstraint } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { collectionOf } from './collection.ts';
import { movePassages } from './passages.sql.ts';
import { asFaqAnswer, asTitle, nextReading, titleTaken, toBeRead, toSource } from './source.ts';
import { lockSource, type SourceRow, updateSourceRow } from './sources.sql.ts';
import { pageUrls } from './website.ts';

type Change = Body<typeof contract.updateSource>;

const fieldsOfKind = {
  article: ['title', 'body'],
  faq: ['title', 'body', 'alternates', 'answer_exactly'],
  file: ['title'],
  website: ['pages', 'refresh'],
} as const satisfies Record<contract.SourceKind, readonly (keyof Change)[]>;
const fieldsOfSome = [...new Set(Object.values(fieldsOfKind).flat())];

/** If one of these columns changes, the source must be read again. The title is indexed like the text. */
const readColumns = ['title', 'body', 'alternates', 'page_urls'] as const satisfies readonly (keyof SourceRow)[];

/** Updates a source. Search uses the old passages until the source has been read again. */
export const updateSource = implement(contract.updateSource, {
  find: ({ account, tx, params }) => lockSource(tx, account.id, params.source_id),
  async handle({ account, tx, body, found, now, resources }) {
    const changed = await changedRow(found, body, resources.guard);
    if (body.collection !== undefined && body.collection !== found.collection_id) {
      const { id, name } = await collectionOf(tx, account.id, body.collection);
      Object.assign(changed, { collection_id: id, collection_name: name });
    }
    if (isDeepStrictEqual(changed, found)) return toSource(found, account.timezone);

    const isRead = readColumns.some((column) => !isDeepStrictEqual(changed[column], found[column]));
    const after = isRead ? { ...toBeRead(changed, now), content: found.content + 1 } : changed;
    // A reading in progress schedules the next one when it ends.
    const isRescheduled = after.refresh !== found.refresh && after.status !== 'processing';
    if (isRescheduled) Object.assign(after, { due_at: nextReading(after, now), tries: 0 });
    after.updated_at = now;
    await updateSourceRow(tx, account.id, after).catch((error: unknown) => {
      if (brokenConstraint(error) !== 'sources_title') throw error;
      throw titleTaken(found.kind === 'faq' ? 'faq' : 'article');
    });
    if (after.active !== found.active || after.collection_id !== found.collection_id) {
      await movePassages(tx, account.id, found.id, after);
    }
    return toSource(after, account.timezone);
  },
  committed: ({ sourceReader }) => sourceReader.wake(),
});

/** Returns the source with the body's changes, except its collection. Throws invalid_request for a field that belongs to another kind. */
async function changedRow(found: SourceRow, body: Change, guard: TargetGuard): Promise<SourceRow> {
  const own: readonly string[] = fieldsOfKind[found.kind];
  const foreign = fieldsOfSome.find((field) => body[field] !== undefined && !own.includes(field));
  if (foreign !== undefined) {
    const message = `${foreign} must be left out for a source of kind ${found.kind}, which has ${own.join(', ')}`;
    throw new ApiError('invalid_request', message, { field: foreign });
  }
  const { active, alternates, answer_exactly, refresh } = body;
  const changed = applyPatch(found, { active, alternates, answer_exactly, refresh });
  if (body.title !== undefined) changed.title = asTitle(body.title);
  if (body.body !== undefined) changed.body = found.kind === 'faq' ? asFaqAnswer(body.body) : body.body;
  if (body.pages !== undefined) changed.page_urls = await pageUrls(found.url!, body.pages, guard);
  return changed;
}
