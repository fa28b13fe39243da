import type { Getter } from '@customer-platform/outbound';
import type { Database } from '@customer-platform/service-kit';
import type { Passage } from '../knowledge/passages.sql.ts';
import { Extractor, type ExtractorOptions } from './extractor.ts';
import { type Piece, Unreadable } from './pieces.ts';
import { type Claim, selectFilePart, selectKnownPages } from './reading.sql.ts';
import { splitMarkdown } from './split.ts';
import { type PageState, readWebsite } from './website.ts';

/** What a source says. */
export interface Reading {
  passages: Passage[];
  isChanged: boolean;
  /** Of a website: what is known of its pages now, and of which the passages are replaced; else all are. */
  website?: { pages: PageState[]; replaced: number[] };
}

export interface ReadingTools {
  sql: Database;
  getter: Getter;
  extractor: ExtractorOptions;
  signal: AbortSignal;
}

/**
 * Reads a source, without a transaction. What others wrote, files and pages, is parsed in a process of its own that lasts as long as this.
 * Throws Unreadable with the reason for people; throws the signal's reason once it is aborted.
 */
export async function readSource(claim: Claim, tools: ReadingTools): Promise<Reading> {
  const { kind, body } = claim;
  if (kind === 'faq') return whole([{ heading_path: [], text: body ?? '' }]);
  if (kind === 'article') return whole(splitMarkdown(body ?? ''));
  const extractor = new Extractor(tools.extractor);
  const stop = () => void extractor.close();
  tools.signal.addEventListener('abort', stop);
  try {
    tools.signal.throwIfAborted();
    return kind === 'file' ? await readFile(claim, tools, extractor) : await readPages(claim, tools, extractor);
  } catch (error) {
    tools.signal.throwIfAborted();
    throw error;
  } finally {
    tools.signal.removeEventListener('abort', stop);
    await extractor.close();
  }
}

async function readFile(claim: Claim, { sql }: ReadingTools, extractor: Extractor): Promise<Reading> {
  const parts = async function* () {
    for (let part = 0; ; part++) {
      const bytes = await selectFilePart(sql, claim, part);
      if (!bytes) return;
      yield bytes;
    }
  };
  return whole(await extractor.read({ type: claim.file_type! }, parts()));
}

async function readPages(claim: Claim, { sql, getter, signal }: ReadingTools, extractor: Extractor): Promise<Reading> {
  const known = await selectKnownPages(sql, claim);
  const urls = claim.page_urls?.length ? claim.page_urls : [claim.url!];
  const website = await readWebsite({ id: claim.id, urls, known }, { getter, extractor, signal });
  return { passages: website.passages, isChanged: website.isChanged, website };
}

function whole(pieces: readonly Piece[]): Reading {
  const passages = pieces.map((piece, position) => ({ page: 0, position, ...piece }));
  if (passages.every(({ text }) => text.trim() === '')) throw new Unreadable('There is nothing to read in it');
  return { passages, isChanged: true };
}
