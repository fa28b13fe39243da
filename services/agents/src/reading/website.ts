import { createHash } from 'node:crypto';
import { MIMEType } from 'node:util';
import {
  bytesOf,
  type DocumentQuestion,
  fileTypeOf,
  type Piece,
  refuseTooMuch,
  Unreadable,
} from '@customer-platform/documents';
import type { GetResult, Getter } from '@customer-platform/outbound';
import type { Passage } from '../knowledge/passages.sql.ts';
import { type Extractors, SourceExtractor } from './extractors.ts';
import type { FairSemaphore } from './fair-semaphore.ts';
import { robotsOf, robotsUnavailable } from './robots.ts';

/** State of a page after it was read. `position` identifies the page and its passages, independent of the order of `urls`. */
export interface PageState {
  position: number;
  url: string;
  etag: string | null;
  last_modified: string | null;
  sha256: Buffer;
}

/** A known page, with the size of its stored passages. */
export interface KnownPage extends PageState {
  passages: number;
  bytes: number;
  /** The result of `digestOf` for the page's passages. */
  digest: Buffer;
}

export interface WebsiteReading {
  /** Passages of the pages in `replaced`. Passages of other pages stay. */
  passages: Passage[];
  replaced: number[];
  pages: PageState[];
  /** True if the content changed. */
  isChanged: boolean;
}

export interface WebsiteTools {
  getter: Getter;
  extractors: Extractors;
  /** Permits for pages larger than `smallPageBytes`. */
  largePages: FairSemaphore;
  signal: AbortSignal;
}

const maxAtOnce = 4;
/** Maximum bytes of a page that needs no permit. Each website may have `maxAtOnce` such pages in memory. */
const smallPageBytes = 524_288;
/** Number of pages exceeding the extractor's limits at which the website fails. */
const maxOverLimit = 3;
const readTypes = new Map<string, DocumentQuestion['type']>([
  ['text/html', 'html'],
  ['application/xhtml+xml', 'html'],
  ['text/plain', 'txt'],
  ['text/markdown', 'md'],
]);
const maxShownUrl = 200;

type PageOutcome =
  | { kind: 'read'; state: PageState; ledTo: string; pieces: Piece[] }
  | { kind: 'kept'; state: PageState; ledTo: string; known: KnownPage }
  | { kind: 'failed'; reason: string; isTemporary: boolean; known: KnownPage | undefined };

/**
 * Reads the pages of a website, four at once, but parses known pages only if they changed. Skips a page that cannot be read if another
 * page can be. Keeps the passages of a page that is temporarily unavailable. If pages lead to the same address or have the same text, only
 * the first in `urls` gets passages. Throws Unreadable with the first page's reason if no page can be read, or if the text or the
 * extractors' work exceeds a limit. Throws the signal's reason once it is aborted.
 */
export async function readWebsite(
  { id, owner, urls, known }: { id: string; owner: string; urls: readonly string[]; known: readonly KnownPage[] },
  tools: WebsiteTools,
): Promise<WebsiteReading> {
  const stop = new AbortController();
  const signal = AbortSignal.any([tools.signal, stop.signal]);
  const extractor = new SourceExtractor(tools.extractors, owner, signal);
  const refusalOf = robotsOf({ getter: tools.getter, extractor, poolKey: id, signal });
  const reading = { ...tools, id, owner, extractor, refusalOf, signal };
  const asked = numbered(urls, known);
  const outcomes: PageOutcome[] = [];
  const kept = new KeptText();
  let next = 0;
  const readOn = async () => {
    try {
      for (let index = next++; index < asked.length; index = next++) {
        const outcome = await readPage(asked[index]!, reading);
        outcomes[index] = outcome;
        kept.add(outcome);
        if (extractor.overLimit >= maxOverLimit) throw new Unreadable(tooMuchWork);
      }
    } catch (error) {
      stop.abort(error);
    }
  };
  await Promise.all(Array.from({ length: maxAtOnce }, readOn));
  signal.throwIfAborted();
  const first = outcomes[0]!;
  if (first.kind === 'failed' && outcomes.every(({ kind }) => kind === 'failed')) {
    const url = urls[0]!;
    throw new Unreadable(
      `${url.length > maxShownUrl ? `${url.slice(0, maxShownUrl)}…` : url} cannot be read: ${first.reason}`,
    );
  }
  return gathered(asked, outcomes, known);
}

const tooMuchWork = `Reading ${maxOverLimit} of its pages took too long or too much memory`;

/** Total size of the text of the pages read so far. */
class KeptText {
  #passages = 0;
  #bytes = 0;

  /** Adds a page. Throws Unreadable if the text exceeds the limits. */
  add(outcome: PageOutcome): void {
    if (outcome.kind === 'read') {
      this.#passages += outcome.pieces.length;
      for (const piece of outcome.pieces) this.#bytes += bytesOf(piece);
    } else if (isKept(outcome)) {
      this.#passages += outcome.known.passages;
      this.#bytes += outcome.known.bytes;
    }
    refuseTooMuch(this.#passages, this.#bytes);
  }
}

/** Returns whether the stored passages of a page stay. */
function isKept(outcome: PageOutcome): outcome is PageOutcome & { known: KnownPage } {
  return outcome.kind === 'kept' || (outcome.kind === 'failed' && outcome.isTemporary && outcome.known !== undefined);
}

interface AskedPage {
  position: number;
  url: string;
  /** The known page, if passages of it are stored. */
  before: KnownPage | undefined;
}

/** Assigns positions. A known page keeps its position; a new page gets the lowest free one. */
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
  const isSeen = seenPages();
  for (const outcome of outcomes) {
    if (outcome.kind === 'read') {
      const { position: page } = outcome.state;
      pages.push(outcome.state);
      if (isSeen(digestOf(outcome.pieces), outcome.ledTo)) continue;
      for (const [position, piece] of outcome.pieces.entries()) passages.push({ page, position, ...piece });
    } else if (isKept(outcome)) {
      pages.push(outcome.kind === 'kept' ? outcome.state : outcome.known);
      const { digest, position, url } = outcome.known;
      if (!isSeen(digest, outcome.kind === 'kept' ? outcome.ledTo : url)) replaced.delete(position);
    }
  }
  const isLess = known.some(({ position, passages }) => passages > 0 && replaced.has(position));
  return { passages, replaced: [...replaced].sort((a, b) => a - b), pages, isChanged: isLess || passages.length > 0 };
}

/** Returns a test whether an earlier page has the same address, ignoring scheme and www., or the same text. */
function seenPages() {
  const seen = new Set<string>();
  return (digest: Buffer, ledTo: string): boolean => {
    const { pathname, search } = new URL(ledTo);
    const marks = [digest.toString('hex'), siteOf(ledTo) + pathname + search];
    const isSeen = marks.some((mark) => seen.has(mark));
    for (const mark of marks) seen.add(mark);
    return isSeen;
  };
}

/** Returns a digest of passages, equal to the one that `selectKnownPages` computes for stored passages. Text never contains the separators. */
export function digestOf(pieces: readonly Piece[]): Buffer {
  const parts = pieces.map(({ heading_path, text }) => `${heading_path.join('\x1f')}\x1e${text}`);
  return createHash('sha256').update(parts.join('\x1d')).digest();
}

/** Dependencies that the pages of one website share. */
interface PageTools extends Omit<WebsiteTools, 'extractors'> {
  id: string;
  owner: string;
  extractor: SourceExtractor;
  /** Returns why a page must not be read; null if it may be. */
  refusalOf(url: string): Promise<string | null>;
}

async function readPage(page: AskedPage, tools: PageTools): Promise<PageOutcome> {
  const { url, before: known } = page;
  const { id, owner, getter, refusalOf, largePages, signal } = tools;
  try {
    const refusal = await refusalOf(url);
    if (refusal) return { kind: 'failed', reason: refusal, isTemporary: refusal.startsWith(robotsUnavailable), known };
    const request = { poolKey: id, url, headers: conditions(known), signal, refusalOf };
    const response = await getter.get({ ...request, maxBodyBytes: smallPageBytes });
    if (response.error !== 'too_large') return await outcomeOf(page, response, tools);
    // The page turned out to be large, so it is fetched again with a permit.
    return await largePages.use(owner, signal, async () => outcomeOf(page, await getter.get(request), tools));
  } finally {
    signal.throwIfAborted();
  }
}

/** Returns the outcome of a page's response. The bytes stay in memory until extraction ends, for a retry after an extractor crashes. */
async function outcomeOf(page: AskedPage, response: GetResult, { extractor }: PageTools): Promise<PageOutcome> {
  const { position, url, before: known } = page;
  const failed = (reason: string, isTemporary = false): PageOutcome => ({ kind: 'failed', reason, isTemporary, known });
  if (response.error !== undefined) return failed(response.message, isTemporary(response));
  const ledTo = response.url;
  if (siteOf(ledTo) !== siteOf(url)) return failed(`it leads to another site, ${new URL(ledTo).host}`);
  if (response.status === 304 && known) return { kind: 'kept', state: known, ledTo, known };
  if (response.status < 200 || response.status > 299)
    return failed(`it responded with ${response.status}`, isTemporary(response));
  const sha256 = createHash('sha256').update(response.body).digest();
  const { etag = null, 'last-modified': last_modified = null } = response.headers;
  const state = { position, url, etag, last_modified, sha256 };
  if (known?.sha256.equals(sha256)) return { kind: 'kept', state, ledTo, known };
  const { essence, charset } = contentType(response.headers['content-type']);
  const type = essence === '' ? fileTypeOf(response.body, 'page.txt') : readTypes.get(essence);
  if (type !== 'html' && type !== 'txt' && type !== 'md')
    return failed(`it is ${essence || 'of no type'}; only HTML and plain text are read`);
  try {
    const pieces = await extractor.read({ type, charset }, () => [response.body]);
    return pieces.length > 0 ? { kind: 'read', state, ledTo, pieces } : failed('it contains no text');
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return failed(error.message.charAt(0).toLowerCase() + error.message.slice(1));
  }
}

/** Returns the site of a URL: its host and port, without a leading www. */
function siteOf(url: string): string {
  return new URL(url).host.replace(/^www\./, '');
}

function conditions(before: KnownPage | undefined): Record<string, string> {
  return {
    accept: 'text/html, application/xhtml+xml, text/plain;q=0.9, text/markdown;q=0.9',
    ...(before?.etag ? { 'if-none-match': before.etag } : {}),
    ...(before?.last_modified ? { 'if-modified-since': before.last_modified } : {}),
  };
}

/** Returns whether a failed page is likely to become available again. */
function isTemporary(response: GetResult): boolean {
  if (response.error === undefined) return response.status >= 500 || response.status === 429 || response.status === 408;
  return ['timeout', 'dns', 'refused', 'tls', 'http'].includes(response.error);
}

/** Parses a Content-Type by the MIME Sniffing standard. The type is empty if the header is missing or invalid. */
function contentType(header: string | undefined): { essence: string; charset: string | undefined } {
  try {
    const { essence, params } = new MIMEType(header ?? '');
    // Some servers put the charset in single quotes, which the standard does not allow.
    return { essence, charset: params.get('charset')?.replace(/^'|'$/g, '') || undefined };
  } catch {
    return { essence: '', charset: undefined };
  }
}
