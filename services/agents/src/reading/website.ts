import { createHash } from 'node:crypto';
import type { GetResult, Getter } from '@customer-platform/outbound';
import type { Passage } from '../knowledge/passages.sql.ts';
import type { Extractor } from './extractor.ts';
import { type Piece, refuseTooMuch, Unreadable } from './pieces.ts';
import { Robots, robotsAway } from './robots.ts';

/** What is known of a page since it was read. `position` is its number, by which its passages are kept, wherever it stands in the list. */
export interface PageState {
  position: number;
  url: string;
  etag: string | null;
  last_modified: string | null;
  sha256: Buffer;
}

/** A page as it stands, with how much is kept of it. */
export interface KnownPage extends PageState {
  passages: number;
  bytes: number;
}

export interface WebsiteReading {
  /** Of the pages in `replaced`; what is kept of the others stays. */
  passages: Passage[];
  replaced: number[];
  pages: PageState[];
  /** Whether there is anything else in it than there was. */
  isChanged: boolean;
}

export interface WebsiteTools {
  getter: Getter;
  extractor: Extractor;
  signal: AbortSignal;
}

const maxAtOnce = 4;
const readTypes = new Set(['text/html', 'application/xhtml+xml', 'text/plain']);
const maxShownUrl = 200;

type PageOutcome =
  | { kind: 'read'; state: PageState; pieces: Piece[] }
  | { kind: 'kept'; state: PageState; known: KnownPage }
  | { kind: 'failed'; reason: string; isTemporary: boolean; known: KnownPage | undefined };

/**
 * Reads the pages of a website, four at once: of those that are known only what has changed. A page that cannot be read is left out as long
 * as one can be; what is kept of one that only does not answer at the moment stays. Throws Unreadable with the first page's reason where
 * none can be read.
 */
export async function readWebsite(
  { id, urls, known }: { id: string; urls: readonly string[]; known: readonly KnownPage[] },
  tools: WebsiteTools,
): Promise<WebsiteReading> {
  const robots = new Robots({ ...tools, poolKey: id });
  const asked = numbered(urls, known);
  const outcomes: PageOutcome[] = [];
  let next = 0;
  const readOn = async () => {
    for (let index = next++; index < asked.length; index = next++) {
      outcomes[index] = await readPage({ id, ...asked[index]! }, robots, tools);
    }
  };
  await Promise.all(Array.from({ length: maxAtOnce }, readOn));
  const first = outcomes[0]!;
  if (first.kind === 'failed' && outcomes.every(({ kind }) => kind === 'failed')) {
    const url = urls[0]!;
    throw new Unreadable(
      `${url.length > maxShownUrl ? `${url.slice(0, maxShownUrl)}…` : url} cannot be read: ${first.reason}`,
    );
  }
  return gathered(asked, outcomes, known);
}

interface AskedPage {
  position: number;
  url: string;
  /** As it is known, where anything is kept of it. */
  before: KnownPage | undefined;
}

/** Gives a page that is known its number again, and a new one the lowest that is free. */
function numbered(urls: readonly string[], known: readonly KnownPage[]): AskedPage[] {
  const knownByUrl = new Map(known.map((page) => [page.url, page]));
  const taken = new Set(urls.map((url) => knownByUrl.get(url)?.position));
  let free = 0;
  return urls.map((url) => {
    const page = knownByUrl.get(url);
    if (page) return { position: page.position, url, before: page.passages > 0 ? page : undefined };
    while (taken.has(free)) free++;
    return { position: free++, url, before: undefined };
  });
}

function gathered(
  asked: readonly AskedPage[],
  outcomes: readonly PageOutcome[],
  known: readonly KnownPage[],
): WebsiteReading {
  const passages: Passage[] = [];
  const pages: PageState[] = [];
  const replaced = new Set([...known, ...asked].map(({ position }) => position));
  let [kept, bytes] = [0, 0];
  for (const outcome of outcomes) {
    if (outcome.kind === 'read') {
      const { position: page } = outcome.state;
      pages.push(outcome.state);
      for (const [position, piece] of outcome.pieces.entries()) {
        passages.push({ page, position, ...piece });
        bytes += Buffer.byteLength(piece.text);
      }
    } else if (outcome.known && (outcome.kind === 'kept' || outcome.isTemporary)) {
      replaced.delete(outcome.known.position);
      const { passages: count, bytes: size, ...state } = outcome.known;
      pages.push(outcome.kind === 'kept' ? outcome.state : state);
      kept += count;
      bytes += size;
    }
  }
  refuseTooMuch(kept + passages.length, bytes);
  const isLess = known.some(({ position, passages }) => passages > 0 && replaced.has(position));
  return { passages, replaced: [...replaced].sort((a, b) => a - b), pages, isChanged: isLess || passages.length > 0 };
}

async function readPage(
  page: AskedPage & { id: string },
  robots: Robots,
  { getter, extractor, signal }: WebsiteTools,
): Promise<PageOutcome> {
  const { id, url, before } = page;
  const failed = (reason: string, isTemporary = false): PageOutcome => {
    return { kind: 'failed', reason, isTemporary, known: before };
  };
  try {
    const refusalOf = (target: string) => robots.refusalOf(target);
    const refusal = await refusalOf(url);
    if (refusal) return failed(refusal, refusal.startsWith(robotsAway));
    const answer = await getter.get({ poolKey: id, url, headers: conditions(before), signal, refusalOf });
    if (answer.error !== undefined) return failed(answer.message, isTemporary(answer));
    if (siteOf(answer.url) !== siteOf(url)) return failed(`it leads to another site, ${new URL(answer.url).host}`);
    const state = stateOf(page, answer);
    if (answer.status === 304 && before) {
      const { passages: _, bytes: __, ...known } = before;
      return { kind: 'kept', state: known, known: before };
    }
    if (answer.status < 200 || answer.status > 299) return failed(`it answered ${answer.status}`, isTemporary(answer));
    if (before?.sha256.equals(state.sha256)) return { kind: 'kept', state, known: before };
    const { type, charset } = contentType(answer.headers['content-type'] ?? '');
    if (!readTypes.has(type)) return failed(`it is ${type || 'of no type'}, and only HTML and plain text are read`);
    const document = { type: type === 'text/plain' ? 'txt' : 'html', charset } as const;
    const pieces = await extractor.read(document, [answer.body]);
    return pieces.length > 0 ? { kind: 'read', state, pieces } : failed('there is nothing to read in it');
  } catch (error) {
    if (error instanceof Unreadable) return failed(error.message.charAt(0).toLowerCase() + error.message.slice(1));
    throw error;
  } finally {
    signal.throwIfAborted();
  }

  function stateOf({ position, url }: AskedPage, answer: GetResult & { error?: undefined }): PageState {
    const sha256 = createHash('sha256').update(answer.body).digest();
    const { etag = null, 'last-modified': last_modified = null } = answer.headers;
    return { position, url, etag, last_modified, sha256 };
  }
}

/** Another host, or port, is another site; a scheme and a leading www. are not. */
function siteOf(url: string): string {
  return new URL(url).host.replace(/^www\./, '');
}

function conditions(before: KnownPage | undefined): Record<string, string> {
  return {
    accept: 'text/html, application/xhtml+xml, text/plain;q=0.9',
    ...(before?.etag ? { 'if-none-match': before.etag } : {}),
    ...(before?.last_modified ? { 'if-modified-since': before.last_modified } : {}),
  };
}

/** Whether a page that was there is likely to be there again. */
function isTemporary(answer: GetResult): boolean {
  if (answer.error === undefined) return answer.status >= 500 || answer.status === 429 || answer.status === 408;
  return ['timeout', 'dns', 'refused', 'tls', 'http'].includes(answer.error);
}

function contentType(header: string): { type: string; charset: string | undefined } {
  const [type = '', ...parameters] = header.split(';').map((part) => part.trim());
  const charset = parameters.find((parameter) => /^charset=/i.test(parameter));
  return { type: type.toLowerCase(), charset: charset?.slice(8).replace(/^"|"$/g, '') || undefined };
}
