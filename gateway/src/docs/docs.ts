import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { isReading, type Logger, pathOf } from '@customer-platform/service-kit';
import { refuse } from '../http/listener.ts';
import { type StaticFile, sendStaticFile, staticFile } from '../http/static-file.ts';
import type { CurrentApiDocument } from './api-document.ts';
import { acceptsHtml, Site } from './site.ts';

/** Directory into which packages/docs-site is built. */
const siteDirectory = join(import.meta.dirname, '../../../packages/docs-site/dist');

const headers = { 'Cache-Control': 'no-cache', 'Content-Security-Policy': "default-src 'none'" };

/** The parts that the documentation server needs. */
interface DocsParts {
  api: Pick<CurrentApiDocument, 'text'>;
  log: Logger;
  /** File with the test key for the reference, if one exists. */
  keyFile?: string | undefined;
  directory?: string;
}

/**
 * Returns the handler of the OpenAPI document and the documentation. It also redirects browsers from the root to /docs.
 * It returns whether it served the request, and throws 405.
 */
export function docsServer({ api, log, keyFile, directory = siteDirectory }: DocsParts) {
  const site = new Site(directory);
  const [serveDocument, serveKey] = [servedOnce(), servedOnce()];
  const made = new Map<string, () => Promise<StaticFile>>([
    ['/v1/openapi.json', async () => serveDocument(await api.text())],
    ['/docs/key.json', async () => serveKey(JSON.stringify(await readKey(keyFile)))],
  ]);
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    if (isBrowserAtRoot(request)) {
      response.writeHead(302, { Location: '/docs', Vary: 'Accept', 'Content-Length': 0 }).end();
      return true;
    }
    const path = pathOf(request);
    const make = made.get(path);
    if (!make && !site.owns(path)) return false;
    if (!isReading(request, response)) return true;
    const sent = make ? sendMade(request, response, make) : site.send(request, response, path);
    sent.catch((error: unknown) => refuse(response, error, log));
    return true;
  };
}

/** Returns whether a browser requests the root, where no operation exists. */
function isBrowserAtRoot(request: IncomingMessage): boolean {
  return (request.method === 'GET' || request.method === 'HEAD') && pathOf(request) === '/' && acceptsHtml(request);
}

async function sendMade(
  request: IncomingMessage,
  response: ServerResponse,
  make: () => Promise<StaticFile>,
): Promise<void> {
  const file = await make();
  if (!response.closed) sendStaticFile(request, response, file, headers);
}

/** Returns a function that compresses a JSON string, and reuses the result while the string stays the same. */
function servedOnce(): (text: string) => Promise<StaticFile> {
  let last: { text: string; served: Promise<StaticFile> } | undefined;
  return (text) => {
    if (last?.text !== text) last = { text, served: compressedJson(text) };
    return last.served;
  };
}

async function compressedJson(text: string): Promise<StaticFile> {
  const bytes = Buffer.from(text);
  return staticFile('application/json; charset=utf-8', bytes, await promisify(gzip)(bytes));
}

/** Returns the key in a file. Only a sandbox key is returned, because everyone who opens the page gets it. */
async function readKey(file: string | undefined): Promise<{ key?: string }> {
  if (file === undefined) return {};
  const key = (await readFile(file, 'utf8').catch(() => '')).trim();
  return /^cp_test_\w+$/.test(key) ? { key } : {};
}
