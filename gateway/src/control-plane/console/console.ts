import { hash } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { pathOf } from '@customer-platform/service-kit';

/** Directory into which packages/console is built. */
const distDirectory = join(import.meta.dirname, '../../../../packages/console/dist');

/** The page and all that it loads come from this listener; its token is sent by its own requests alone. */
const contentSecurityPolicy =
  "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'";

const contentTypes: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const missingPage = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Console</title></head>
<body>
<h1>The console is not built</h1>
<p>Run <code>node scripts/bootstrap.mjs</code> in the repository, as <code>npm start</code> does, and start the gateway again.</p>
</body>
</html>
`;

/** A file in memory, plain and compressed. */
interface StaticFile {
  type: string;
  bytes: Buffer;
  gzipped: Buffer;
  etag: string;
  cacheControl: string;
}

/**
 * Returns a function that serves the files of a directory, `index.html` at the root, and returns whether the request
 * was for one of them. They are read once, at the first request, so that no path of a request reaches the disk.
 */
export function consoleServer(directory: string) {
  let files: Map<string, StaticFile> | undefined;
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return false;
    files ??= readFiles(directory);
    const file = files.get(pathOf(request));
    if (file) sendFile(request, response, file);
    return file !== undefined;
  };
}

/** Serves the console's page and its assets, which need no token: they hold no data. */
export const serveConsole = consoleServer(distDirectory);

function readFiles(directory: string): Map<string, StaticFile> {
  if (!existsSync(join(directory, 'index.html'))) {
    return new Map([['/', fileOf('index.html', Buffer.from(missingPage))]]);
  }
  const names = globSync('**', { cwd: directory }).filter((name) => extname(name) in contentTypes);
  return new Map(
    names.map((name) => [name === 'index.html' ? '/' : `/${name}`, fileOf(name, readFileSync(join(directory, name)))]),
  );
}

function fileOf(name: string, bytes: Buffer): StaticFile {
  return {
    type: contentTypes[extname(name)]!,
    bytes,
    gzipped: gzipSync(bytes),
    etag: `"${hash('sha256', bytes, 'base64url').slice(0, 22)}"`,
    // The names of assets have a hash of their content; the page that names them is asked for each time.
    cacheControl: name.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
  };
}

function sendFile(request: IncomingMessage, response: ServerResponse, file: StaticFile): void {
  response.setHeader('ETag', file.etag);
  response.setHeader('Cache-Control', file.cacheControl);
  response.setHeader('Content-Security-Policy', contentSecurityPolicy);
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('Referrer-Policy', 'no-referrer');
  response.setHeader('Vary', 'Accept-Encoding');
  if (request.headers['if-none-match'] === file.etag) {
    response.writeHead(304).end();
    return;
  }
  const isGzipped = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''));
  if (isGzipped) response.setHeader('Content-Encoding', 'gzip');
  const body = isGzipped ? file.gzipped : file.bytes;
  response.writeHead(200, { 'Content-Type': file.type, 'Content-Length': body.length });
  response.end(request.method === 'HEAD' ? undefined : body);
}
