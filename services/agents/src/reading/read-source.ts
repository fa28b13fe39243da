import { isVisible, type Piece, splitMarkdown, Unreadable } from '@customer-platform/documents';
import type { Database } from '@customer-platform/service-kit';
import type { Passage } from '../knowledge/passages.sql.ts';
import { type Extractors, SourceExtractor } from './extractors.ts';
import { type ClaimedSource, selectFilePart, selectKnownPages } from './reading.sql.ts';
import { type PageState, readWebsite, type WebsiteTools } from './website.ts';

/** The content read from a source. */
export interface Reading {
  passages: Passage[];
  isChanged: boolean;
  /** For a website: the state of its pages, and the positions of pages whose passages are replaced. Other kinds replace all passages. */
  website?: { pages: PageState[]; replaced: number[] };
}

export interface ReadingTools extends Omit<WebsiteTools, 'extractors'> {
  sql: Database;
  /** Child processes that parse untrusted files and pages. */
  extractors: { files: Extractors; pages: Extractors };
}

/** Reads a source, outside any transaction. Throws Unreadable with a reason for users, or the signal's reason once it is aborted. */
export async function readSource(claim: ClaimedSource, tools: ReadingTools): Promise<Reading> {
  const { kind, body } = claim;
  if (kind === 'faq') return whole([{ heading_path: [], text: body ?? '' }]);
  if (kind === 'article') return whole(splitMarkdown(body ?? ''));
  return kind === 'file' ? await readFile(claim, tools) : await readPages(claim, tools);
}

async function readFile(claim: ClaimedSource, { sql, extractors, signal }: ReadingTools): Promise<Reading> {
  const parts = async function* () {
    for (let part = 0; ; part++) {
      const bytes = await selectFilePart(sql, claim, part);
      if (!bytes) return;
      yield bytes;
    }
  };
  const extractor = new SourceExtractor(extractors.files, claim.account_id, signal);
  return whole(await extractor.read({ type: claim.file_type! }, parts));
}

async function readPages(claim: ClaimedSource, { sql, extractors, ...tools }: ReadingTools): Promise<Reading> {
  const known = await selectKnownPages(sql, claim);
  const urls = claim.page_urls?.length ? claim.page_urls : [claim.url!];
  const website = await readWebsite(
    { id: claim.id, owner: claim.account_id, urls, known },
    { ...tools, extractors: extractors.pages },
  );
  return { passages: website.passages, isChanged: website.isChanged, website };
}

function whole(pieces: readonly Piece[]): Reading {
  const passages = pieces.map((piece, position) => ({ page: 0, position, ...piece }));
  if (!passages.some(({ text }) => isVisible(text))) throw new Unreadable('It contains no text');
  return { passages, isChanged: true };
}
