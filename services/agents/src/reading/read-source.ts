import { type Piece, splitMarkdown, Unreadable } from '@customer-platform/documents';
import type { Database } from '@customer-platform/service-kit';
import type { Passage } from '../knowledge/passages.sql.ts';
import type { Extractors } from './extractors.ts';
import { type Claim, selectFilePart, selectKnownPages } from './reading.sql.ts';
import { type PageState, readWebsite, type WebsiteTools } from './website.ts';

/** What a source says. */
export interface Reading {
  passages: Passage[];
  isChanged: boolean;
  /** Of a website: what is known of its pages now, and of which the passages are replaced; else all are. */
  website?: { pages: PageState[]; replaced: number[] };
}

export interface ReadingTools extends Omit<WebsiteTools, 'extractors'> {
  sql: Database;
  /** What parses that others wrote, in processes of their own: files, and pages. */
  extractors: { files: Extractors; pages: Extractors };
}

/** Reads a source, without a transaction. Throws Unreadable with the reason for people; throws the signal's reason once it is aborted. */
export async function readSource(claim: Claim, tools: ReadingTools): Promise<Reading> {
  const { kind, body } = claim;
  if (kind === 'faq') return whole([{ heading_path: [], text: body ?? '' }]);
  if (kind === 'article') return whole(splitMarkdown(body ?? ''));
  return kind === 'file' ? await readFile(claim, tools) : await readPages(claim, tools);
}

async function readFile(claim: Claim, { sql, extractors, signal }: ReadingTools): Promise<Reading> {
  const parts = async function* () {
    for (let part = 0; ; part++) {
      const bytes = await selectFilePart(sql, claim, part);
      if (!bytes) return;
      yield bytes;
    }
  };
  return whole(await extractors.files.shareOf(signal).read({ type: claim.file_type! }, parts));
}

async function readPages(claim: Claim, { sql, extractors, ...tools }: ReadingTools): Promise<Reading> {
  const known = await selectKnownPages(sql, claim);
  const urls = claim.page_urls?.length ? claim.page_urls : [claim.url!];
  const website = await readWebsite({ id: claim.id, urls, known }, { ...tools, extractors: extractors.pages });
  return { passages: website.passages, isChanged: website.isChanged, website };
}

function whole(pieces: readonly Piece[]): Reading {
  const passages = pieces.map((piece, position) => ({ page: 0, position, ...piece }));
  if (passages.every(({ text }) => text.trim() === '')) throw new Unreadable('It contains no text');
  return { passages, isChanged: true };
}
