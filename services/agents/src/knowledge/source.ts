import type { KnowledgeSource } from '@customer-platform/contracts/agents';
import { ApiError, codePoints } from '@customer-platform/contracts/core';
import { formatInstant } from '@customer-platform/service-kit';
import type { SourceRow } from './sources.sql.ts';

/** A source as the API shows it, with its time in this zone. */
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

/** A title without blanks around it. Throws invalid_request, field title, where nothing is left. */
export function asTitle(given: string): string {
  const title = given.trim();
  if (title !== '') return title;
  throw new ApiError('invalid_request', 'title must not be blank', { field: 'title' });
}

/** The refusal of a title that another source of its kind has. */
export function titleTaken(kind: 'article' | 'faq'): ApiError {
  const what = kind === 'faq' ? 'an FAQ with this question' : 'an article with this title';
  return new ApiError('invalid_request', `title must be unique; ${what} already exists`, { field: 'title' });
}

/** A source that is to be read, from now on. */
export function toBeRead(row: SourceRow, now: Date): SourceRow {
  return { ...row, status: 'processing', error: '', due_at: now, reading_since: now, tries: 0 };
}

const answerLength = 2_000;

/** An FAQ's answer. Throws invalid_request, field body, where it is too long. */
export function asAnswer(body: string): string {
  if (codePoints(body) <= answerLength) return body;
  const message = `body must be a string of 1 to ${answerLength} characters for an FAQ`;
  throw new ApiError('invalid_request', message, { field: 'body' });
}
