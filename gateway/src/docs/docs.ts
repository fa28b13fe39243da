import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { gzip } from 'node:zlib';
import { isReading, type Logger, pathOf } from '@customer-platform/service-kit';
import { refuse } from '../http/listener.ts';
import { type StaticFile, sendStaticFile, staticFile } from '../http/static-file.ts';
import type { CurrentApiDocument } from './api-document.ts';

/**
 * Restricts every load to this origin: the page works without the internet. Style sheets that the reference inserts carry the nonce; the
 * attributes that it computes, such as the width of line numbers, cannot.
 */
const policyOf = (nonce: string) =>
  `default-src 'self'; style-src 'self' 'nonce-${nonce}'; style-src-attr 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'`;

const pageOf = (nonce: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta property="csp-nonce" content="${nonce}">
<title>Customer Platform API</title>
<link rel="icon" href="/docs/favicon.svg">
</head>
<body>
<div id="api"></div>
<script nonce="${nonce}" src="/docs/nonce.js"></script>
<script src="/docs/scalar.js"></script>
<script type="module" src="/docs/start.js"></script>
<noscript>The reference needs JavaScript. /v1/openapi.json has the same.</noscript>
</body>
</html>
`;

const script = 'text/javascript; charset=utf-8';
const json = 'application/json; charset=utf-8';

/** The page's files by path; each is made at its first request and cached. */
const makers: Record<string, () => Promise<StaticFile>> = {
  '/docs/nonce.js': () => ownFile('nonce.js', script),
  '/docs/sandbox.js': () => ownFile('sandbox.js', script),
  '/docs/start.js': () => ownFile('start.js', script),
  '/docs/favicon.svg': () => ownFile('favicon.svg', 'image/svg+xml'),
  '/docs/scalar.js': async () => {
    const { bytes, gzipped } = await readReferenceScript();
    return staticFile(script, bytes, gzipped);
  },
};
const pagePath = '/docs';
const keyPath = '/docs/key.json';
const documentPath = '/v1/openapi.json';

const made = new Map<string, Promise<StaticFile>>();

/**
 * Returns what serves the OpenAPI document and its page, and leads browsers from the root to the page: it returns whether the request
 * was one of theirs, and throws 405. The page uses the test key in `keyFile`, if there is one.
 */
export function docsServer(api: Pick<CurrentApiDocument, 'text'>, log: Logger, keyFile: string | undefined) {
  const [serveDocument, serveKey] = [servedOnce(), servedOnce()];
  const find = async (path: string): Promise<StaticFile> => {
    if (path === documentPath) return await serveDocument(await api.text());
    if (path === keyPath) return await serveKey(JSON.stringify(await readKey(keyFile)));
    return await fileAt(path);
  };
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const url = request.url!;
    if (isBrowserAtRoot(request)) {
      response.writeHead(302, { Location: pagePath, 'Content-Length': 0 }).end();
      return true;
    }
    if (!(url.startsWith(pagePath) || url.startsWith(documentPath))) return false;
    const path = pathOf(request);
    if (![documentPath, pagePath, keyPath].includes(path) && !Object.hasOwn(makers, path)) return false;
    if (!isReading(request, response)) return true;
    if (path === pagePath) sendPage(response);
    else {
      find(path).then(
        (file) => {
          if (!response.closed) sendStaticFile(request, response, file, headersOf("default-src 'self'"));
        },
        (error: unknown) => refuse(response, error, log),
      );
    }
    return true;
  };
}

/** Returns whether a browser asks for the root, where no operation is: only a browser names HTML among what it accepts. */
function isBrowserAtRoot({ method, url, headers }: IncomingMessage): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false;
  if (url !== '/' && !url!.startsWith('/?')) return false;
  const accepted = headers.accept?.split(',') ?? [];
  return accepted.some((range) => range.split(';', 1)[0]!.trim().toLowerCase() === 'text/html');
}

function sendPage(response: ServerResponse): void {
  const nonce = randomBytes(18).toString('base64');
  const body = Buffer.from(pageOf(nonce));
  response.writeHead(200, {
    ...headersOf(policyOf(nonce)),
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Length': body.length,
  });
  response.end(body);
}

const headersOf = (policy: string) => ({ 'Cache-Control': 'no-cache', 'Content-Security-Policy': policy });

function fileAt(path: string): Promise<StaticFile> {
  let file = made.get(path);
  if (!file) {
    file = makers[path]!();
    made.set(path, file);
    file.catch(() => made.delete(path));
  }
  return file;
}

async function ownFile(name: string, type: string): Promise<StaticFile> {
  return await served(type, await readFile(join(import.meta.dirname, 'browser', name), 'utf8'));
}

async function served(type: string, text: string): Promise<StaticFile> {
  const bytes = Buffer.from(text);
  return staticFile(type, bytes, await promisify(gzip)(bytes));
}

/** Returns what compresses a JSON text when it is another than the last time: whoever asks again and again costs nothing. */
function servedOnce(): (text: string) => Promise<StaticFile> {
  let last: { text: string; served: Promise<StaticFile> } | undefined;
  return (text) => {
    if (last?.text !== text) last = { text, served: served(json, text) };
    return last.served;
  };
}

/** Time in which a thread reads the script; it takes about a second. */
const readMs = 60_000;

/**
 * Returns the script that draws the reference (Scalar, with all that it needs), plain and compressed. A thread reads it: the package has it
 * as text amid its code, which would stay in memory, and compressing 5 MB would keep requests waiting.
 */
async function readReferenceScript(): Promise<{ bytes: Uint8Array; gzipped: Uint8Array }> {
  const worker = new Worker(new URL('./reference-script-worker.ts', import.meta.url));
  try {
    const [read] = await once(worker, 'message', { signal: AbortSignal.timeout(readMs) });
    return read as { bytes: Uint8Array; gzipped: Uint8Array };
  } finally {
    void worker.terminate();
  }
}

/** Returns the key in a file. Only one that acts on a sandbox is shown: whoever opens the page gets it. */
async function readKey(file: string | undefined): Promise<{ key?: string }> {
  if (file === undefined) return {};
  const key = (await readFile(file, 'utf8').catch(() => '')).trim();
  return /^cp_test_\w+$/.test(key) ? { key } : {};
}
