import type { KnowledgeSource, Refresh } from '@customer-platform/contracts/agents';
import { ApiError, codePoints } from '@customer-platform/contracts/core';
import { dayMs, formatInstant } from '@customer-platform/service-kit';
import type { SourceRow } from './sources.sql.ts';

/** Returns a source as the API shows it, with times in this time zone. */
export function toSource(row: SourceRow, timezone: string): KnowledgeSource {
  const common = {
    id: row.id,
    title: row.title,
    collection: { id: row.collection_id, name: row.collection_name },
    status: row.status,
    error: row.error,
    active: row.active,
    updated_at: formatInstant(row.updated_at, timezone),
  };
  switch (row.kind) {
    case 'article':
      return { ...common, kind: 'article', body: row.body! };
    case 'faq':
      return {
        ...common,
        kind: 'faq',
        body: row.body!,
        alternates: row.alternates!,
        answer_exactly: row.answer_exactly!,
      };
    case 'file':
      return { ...common, kind: 'file', file_type: row.file_type!, size_bytes: row.size_bytes! };
    case 'website':
      return {
        ...common,
        kind: 'website',
        url: row.url!,
        refresh: row.refresh!,
        crawl: row.crawl!,
        pages: row.page_urls!.length,
      };
  }
}

/** Returns a trimmed title. Throws invalid_request, field title, if it is blank. */
export function asTitle(given: string): string {
  const title = given.trim();
  if (title !== '') return title;
  throw new ApiError('invalid_request', 'title must not be blank', { field: 'title' });
}

/** Returns the error for a title that another source of the same kind has. */
export function titleTaken(kind: 'article' | 'faq'): ApiError {
  const what = kind === 'faq' ? 'an FAQ with this question' : 'an article with this title';
  return new ApiError('invalid_request', `title must be unique; ${what} already exists`, { field: 'title' });
}

/** Returns the source, due for reading now. */
export function toBeRead(row: SourceRow, now: Date): SourceRow {
  return { ...row, status: 'processing', error: '', due_at: now, reading_since: now, tries: 0 };
}

const refreshMs: Record<Refresh, number | null> = { never: null, daily: dayMs, weekly: 7 * dayMs };

/** Returns when the source's schedule reads it next; null if never. */
export function nextReading({ refresh }: Pick<SourceRow, 'refresh'>, now: Date): Date | null {
  const waitMs = refresh && refreshMs[refresh];
  return waitMs === null ? null : new Date(now.getTime() + waitMs);
}

const faqAnswerLength = 2_000;

/** Returns an FAQ answer. Throws invalid_request, field body, if it is too long. */
export function asFaqAnswer(body: string): string {
  if (codePoints(body) <= faqAnswerLength) return body;
  const message = `body must be a string of 1 to ${faqAnswerLength} characters for an FAQ`;
  throw new ApiError('invalid_request', message, { field: 'body' });
}
