import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { basename, extname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { ApiError } from '@customer-platform/contracts/core';
import { serviceUnavailable } from '@customer-platform/service-kit';
import Negotiator from 'negotiator';
import { etagOf, isKnown, prefersGzip, type StaticFile, sendStaticFile } from '../http/static-file.ts';

/** Content types by file extension; any other file is application/octet-stream. Text types are compressed. */
const types: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.xml': 'application/xml; charset=utf-8',
  '.gz': 'application/gzip',
  '.ico': 'image/x-icon',
  '.png': 'image/png',
  '.tgz': 'application/gzip',
  '.wasm': 'application/wasm',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
};
const isText = (type: string) => type.includes('charset') || type === types['.svg'];

/** Folders whose file names contain a hash of the content. */
const hashedFolders = ['_astro/', 'pagefind/fragment/', 'pagefind/index/'];
/** Archives of the clients with a version in their names. */
const versionedArchive = /^client(-python)?-\d[\w.]*\.(tgz|tar\.gz)$/;
/** Files of the site that assistants, crawlers and browsers expect at the root, by path. */
const atRoot: ReadonlyMap<string, string> = new Map([
  ['/llms.txt', 'llms.txt'],
  ['/llms-full.txt', 'llms-full.txt'],
  ['/robots.txt', 'robots.txt'],
  ['/favicon.ico', 'favicon.svg'],
]);
const policyFile = 'csp.json';
/** Placeholder in a page for the nonce of each response. The style sheets that the reference inserts carry the nonce. */
const noncePlace = '{csp-nonce}';

/** Additional sources that the site allows, by directive: the hashes of its inline scripts. */
type Sources = Partial<Record<'script-src' | 'style-src', string[]>>;

interface SiteFile {
  file: string;
  type: string;
  headers: Record<string, string>;
  /** Created at the first request and cached: the ETag and, for text, the compressed bytes. */
  kept?: Promise<Kept>;
}
interface Kept {
  etag: string;
  gzipped: Buffer | undefined;
  hasNonce: boolean;
}

/** The documentation's files, listed when the gateway starts, so that no request path reaches the disk. */
export class Site {
  readonly #files: ReadonlyMap<string, SiteFile>;
  readonly #sources: Sources;

  /** A directory that does not exist counts as a site that is not built. */
  constructor(directory: string) {
    const isBuilt = existsSync(join(directory, 'index.html'));
    this.#files = isBuilt ? listFiles(directory) : new Map();
    const policy = join(directory, policyFile);
    this.#sources = existsSync(policy) ? (JSON.parse(readFileSync(policy, 'utf8')) as Sources) : {};
  }

  /** Returns whether a path belongs to the site, even if no file exists. */
  owns(path: string): boolean {
    return path === '/docs' || path.startsWith('/docs/') || atRoot.has(path);
  }

  /**
   * Sends the file at a path. Sends a page as Markdown to a client that prefers it. Redirects `/docs/x/` and `/docs/x.html` to `/docs/x`, and
   * `/docs/index` to `/docs`. Throws 404 for an unknown path, which browsers get as a page, and 503 if the site is not built.
   */
  async send(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    if (this.#files.size === 0)
      throw serviceUnavailable('The documentation is not built: run `npm run build`, then start the gateway again');
    const found = this.#files.get(path);
    const plainPath = path.replace(/\/index(\.html)?$|\/$|\.html$/, '');
    if (!found && this.#files.has(plainPath)) redirect(request, response, plainPath);
    else if (found) {
      const markdown = this.#files.get(path === '/docs' ? '/docs/index.md' : `${path}.md`);
      if (markdown) response.setHeader('Vary', 'Accept, Accept-Encoding');
      await this.#send(request, response, markdown && prefersMarkdown(request) ? markdown : found, 200);
    } else {
      response.setHeader('Vary', 'Accept, Accept-Encoding');
      const page = acceptsHtml(request) ? this.#files.get('/docs/404') : undefined;
      if (!page) throw new ApiError('not_found', 'The documentation has no page at this path; start at /docs');
      await this.#send(request, response, page, 404);
    }
  }

  async #send(request: IncomingMessage, response: ServerResponse, file: SiteFile, status: number): Promise<void> {
    file.kept ??= keep(file);
    const { etag, gzipped, hasNonce } = await file.kept.catch((error: unknown) => {
      delete file.kept;
      throw error;
    });
    const { type } = file;
    const keepsNonce = hasNonce && status === 200 && isKnown(request, etag);
    const nonce = hasNonce && !keepsNonce ? randomBytes(18).toString('base64') : undefined;
    // Only the compressed bytes stay in memory, because nearly every client accepts them.
    const sent = nonce
      ? await withNonce(file, nonce, etag)
      : { type, etag, gzipped, bytes: gzipped && prefersGzip(request) ? gzipped : await readFile(file.file) };
    if (response.closed) return;
    // A page cached by a browser has its own nonce, which only the policy sent with it allows.
    const policy = keepsNonce ? {} : { 'Content-Security-Policy': policyOf(type, this.#sources, nonce) };
    const headers = { ...policy, ...file.headers };
    sendStaticFile(request, response, sent, headers, status);
  }
}

/** Returns whether a browser sent the request: only browsers list HTML in Accept. */
export function acceptsHtml(request: IncomingMessage): boolean {
  return new Negotiator(request).mediaTypes().some((type) => type.toLowerCase() === 'text/html');
}

function prefersMarkdown(request: IncomingMessage): boolean {
  return new Negotiator(request).mediaType([types['.html']!, types['.md']!]) === types['.md'];
}

/** Returns the files of the site by path. Files whose names begin with a dot are internal to the build. */
function listFiles(directory: string): Map<string, SiteFile> {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.name.startsWith('.') && entry.name !== policyFile);
  const paths = files.flatMap(({ parentPath, name }) => {
    const file = join(parentPath, name);
    const path = relative(directory, file).replaceAll('\\', '/');
    const served = siteFile(file, path);
    const page = `/docs/${path}`.replace(/(\/index)?\.html$/, '');
    const roots = [...atRoot].filter(([, name]) => name === path).map(([root]) => root);
    return [page, ...roots].map((each) => [each, served] as const);
  });
  return new Map(paths);
}

function siteFile(file: string, path: string): SiteFile {
  const type = types[extname(path)] ?? 'application/octet-stream';
  const isKept = versionedArchive.test(path) || hashedFolders.some((folder) => path.startsWith(folder));
  const cacheControl = isKept ? 'public, max-age=31536000, immutable' : 'no-cache';
  const download = { 'Content-Disposition': `attachment; filename="${basename(path)}"` };
  return {
    file,
    type,
    headers: { 'Cache-Control': cacheControl, ...(type === 'application/gzip' ? download : {}) },
  };
}

async function keep({ file, type }: SiteFile): Promise<Kept> {
  const bytes = await readFile(file);
  const hasNonce = bytes.includes(noncePlace);
  const gzipped = isText(type) && !hasNonce ? await promisify(gzip)(bytes) : undefined;
  return { etag: etagOf(bytes), gzipped, hasNonce };
}

async function withNonce({ file, type }: SiteFile, nonce: string, etag: string): Promise<StaticFile> {
  const text = await readFile(file, 'utf8');
  const bytes = Buffer.from(text.replaceAll(noncePlace, nonce));
  return { type, bytes, gzipped: await promisify(gzip)(bytes), etag };
}

/**
 * Returns the content security policy, which allows loads only from this origin. Search needs WebAssembly. The reference and code samples compute
 * style attributes, such as the width of line numbers, which cannot carry a nonce. An SVG contains its own style sheet.
 */
function policyOf(type: string, sources: Sources, nonce: string | undefined): string {
  if (type === types['.svg']) return "default-src 'none'; style-src 'unsafe-inline'";
  const scripts = ["'self'", "'wasm-unsafe-eval'", ...(sources['script-src'] ?? [])];
  const styles = ["'self'", ...(nonce ? [`'nonce-${nonce}'`] : []), ...(sources['style-src'] ?? [])];
  return [
    "default-src 'self'",
    `script-src ${scripts.join(' ')}`,
    `style-src ${styles.join(' ')}`,
    "style-src-attr 'unsafe-inline'",
    "img-src 'self' data:",
    "object-src 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

function redirect(request: IncomingMessage, response: ServerResponse, path: string): void {
  const query = request.url!.includes('?') ? request.url!.slice(request.url!.indexOf('?')) : '';
  response.writeHead(301, { Location: path + query, 'Cache-Control': 'no-cache', 'Content-Length': 0 }).end();
}
