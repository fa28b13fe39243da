import { createHash } from 'node:crypto';
import { bytesOf, type Piece, refuseTooMuch, Unreadable } from '@customer-platform/documents';
import type { GetResult, Getter } from '@customer-platform/outbound';
import type { Passage } from '../knowledge/passages.sql.ts';
import type { ExtractorShare, Extractors } from './extractors.ts';
import { Robots, robotsAway } from './robots.ts';
import type { Share, Turns } from './turns.ts';

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
  extractors: Extractors;
  /** The turns of pages that are larger than `smallPageBytes`. */
  largePages: Turns;
  signal: AbortSignal;
}

const maxAtOnce = 4;
/** What a page may have that needs no turn: all websites that are read at once have `maxAtOnce` of these in memory. */
const smallPageBytes = 524_288;
/** So many pages that are too much for an extractor, and the website is given up. */
const maxOvertaxing = 3;
const readTypes = new Set(['text/html', 'application/xhtml+xml', 'text/plain']);
const maxShownUrl = 200;

type PageOutcome =
  | { kind: 'read'; state: PageState; pieces: Piece[] }
  | { kind: 'kept'; state: PageState; known: KnownPage }
  | { kind: 'failed'; reason: string; isTemporary: boolean; known: KnownPage | undefined };

/**
 * Reads the pages of a website, four at once: of those that are known only what has changed. A page that cannot be read is left out as long
 * as one can be; what is kept of one that only does not answer at the moment stays. Throws Unreadable with the first page's reason where
 * none can be read, and as soon as there is more text than is kept, or pages are too much for the extractors; throws the signal's reason.
 */
export async function readWebsite(
  { id, urls, known }: { id: string; urls: readonly string[]; known: readonly KnownPage[] },
  tools: WebsiteTools,
): Promise<WebsiteReading> {
  const stop = new AbortController();
  const signal = AbortSignal.any([tools.signal, stop.signal]);
  const extractor = tools.extractors.shareOf(signal);
  const robots = new Robots({ getter: tools.getter, extractor, poolKey: id, signal });
  const reading = { ...tools, id, extractor, robots, signal, largeShare: { usedMs: 0 } };
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
        if (extractor.overtaxing >= maxOvertaxing) throw new Unreadable(tooMuchWork);
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

const tooMuchWork = `Reading ${maxOvertaxing} of its pages took too long or too much memory`;

/** How much text is kept of all pages so far. */
class KeptText {
  #passages = 0;
  #bytes = 0;

  /** Throws Unreadable where it is too much. */
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

/** Whether what was known of a page stays. */
function isKept(outcome: PageOutcome): outcome is PageOutcome & { known: KnownPage } {
  return outcome.kind === 'kept' || (outcome.kind === 'failed' && outcome.isTemporary && outcome.known !== undefined);
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
  for (const outcome of outcomes) {
    if (outcome.kind === 'read') {
      const { position: page } = outcome.state;
      pages.push(outcome.state);
      for (const [position, piece] of outcome.pieces.entries()) passages.push({ page, position, ...piece });
    } else if (isKept(outcome)) {
      replaced.delete(outcome.known.position);
      const { passages: _, bytes: __, ...state } = outcome.known;
      pages.push(outcome.kind === 'kept' ? outcome.state : state);
    }
  }
  const isLess = known.some(({ position, passages }) => passages > 0 && replaced.has(position));
  return { passages, replaced: [...replaced].sort((a, b) => a - b), pages, isChanged: isLess || passages.length > 0 };
}

/** What the reading of one page shares with that of the others. */
interface PageTools extends Omit<WebsiteTools, 'extractors'> {
  id: string;
  extractor: ExtractorShare;
  robots: Robots;
  largeShare: Share;
}

async function readPage(page: AskedPage, tools: PageTools): Promise<PageOutcome> {
  const { url, before: known } = page;
  const { id, getter, robots, largePages, largeShare, signal } = tools;
  try {
    const refusalOf = (target: string) => robots.refusalOf(target);
    const refusal = await refusalOf(url);
    if (refusal) return { kind: 'failed', reason: refusal, isTemporary: refusal.startsWith(robotsAway), known };
    const request = { poolKey: id, url, headers: conditions(known), signal, refusalOf };
    const answer = await getter.get({ ...request, maxBodyBytes: smallPageBytes });
    if (answer.error !== 'too_large') return await outcomeOf(page, answer, tools);
    // Nobody says beforehand how large it is: it is asked for once more when there is room.
    return await largePages.use(largeShare, signal, async () => outcomeOf(page, await getter.get(request), tools));
  } finally {
    signal.throwIfAborted();
  }
}

/** What came of a page that answered. Its bytes are held until it has been read, since a process that is killed reads it once more. */
async function outcomeOf(page: AskedPage, answer: GetResult, { extractor }: PageTools): Promise<PageOutcome> {
  const { position, url, before: known } = page;
  const failed = (reason: string, isTemporary = false): PageOutcome => ({ kind: 'failed', reason, isTemporary, known });
  if (answer.error !== undefined) return failed(answer.message, isTemporary(answer));
  if (siteOf(answer.url) !== siteOf(url)) return failed(`it leads to another site, ${new URL(answer.url).host}`);
  if (answer.status === 304 && known) {
    const { passages: _, bytes: __, ...state } = known;
    return { kind: 'kept', state, known };
  }
  if (answer.status < 200 || answer.status > 299)
    return failed(`it responded with ${answer.status}`, isTemporary(answer));
  const sha256 = createHash('sha256').update(answer.body).digest();
  const { etag = null, 'last-modified': last_modified = null } = answer.headers;
  const state = { position, url, etag, last_modified, sha256 };
  if (known?.sha256.equals(sha256)) return { kind: 'kept', state, known };
  const { type, charset } = contentType(answer.headers['content-type'] ?? '');
  if (!readTypes.has(type)) return failed(`it is ${type || 'of no type'}; only HTML and plain text are read`);
  try {
    const pieces = await extractor.read({ type: type === 'text/plain' ? 'txt' : 'html', charset }, () => [answer.body]);
    return pieces.length > 0 ? { kind: 'read', state, pieces } : failed('it contains no text');
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return failed(error.message.charAt(0).toLowerCase() + error.message.slice(1));
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
