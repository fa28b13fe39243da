import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { isReading, type Logger, pathOf } from '@customer-platform/service-kit';
import { refuse } from '../proxy/respond.ts';
import type { CurrentApiDocument } from './api-document.ts';

/** Restricts every load to this origin: the page works without the internet. */
const contentSecurityPolicy = "default-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'";

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Customer Platform API</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="icon" href="/docs/favicon-32x32.png">
</head>
<body>
<div id="api"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;

const startScript = `SwaggerUIBundle({
  url: '/v1/openapi.json',
  dom_id: '#api',
  deepLinking: true,
  validatorUrl: null,
});
`;

interface Served {
  type: string;
  body: Buffer;
  etag: string;
}

/** The page's files by path; each is made at its first request and cached. */
const makers: Record<string, () => { type: string; body: string | Buffer }> = {
  '/docs': () => ({ type: 'text/html; charset=utf-8', body: page }),
  '/docs/start.js': () => ({ type: 'text/javascript; charset=utf-8', body: startScript }),
  '/docs/swagger-ui.css': () => distributed('swagger-ui.css', 'text/css; charset=utf-8'),
  '/docs/swagger-ui-bundle.js': () => distributed('swagger-ui-bundle.js', 'text/javascript; charset=utf-8'),
  '/docs/favicon-32x32.png': () => distributed('favicon-32x32.png', 'image/png'),
};
const documentPath = '/v1/openapi.json';

const made = new Map<string, Served>();

/**
 * Returns what serves the OpenAPI document and its page, and leads browsers from the root to the page: it returns whether the request
 * was one of theirs, and throws 405.
 */
export function docsServer(api: CurrentApiDocument, log: Logger) {
  let document: { text: string; served: Served } | undefined;
  const current = async () => {
    const text = await api.text();
    if (document?.text !== text) document = { text, served: served('application/json; charset=utf-8', text) };
    return document.served;
  };
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const url = request.url!;
    if (isBrowserAtRoot(request)) {
      response.writeHead(302, { Location: '/docs', 'Content-Length': 0 }).end();
      return true;
    }
    if (!(url.startsWith('/docs') || url.startsWith(documentPath))) return false;
    const path = pathOf(request);
    if (path !== documentPath && !Object.hasOwn(makers, path)) return false;
    if (!isReading(request, response)) return true;
    if (path !== documentPath) sendFile(request, response, made.get(path) ?? makeFile(path));
    else {
      current().then(
        (file) => sendFile(request, response, file),
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

function sendFile(request: IncomingMessage, response: ServerResponse, { type, body, etag }: Served): void {
  response.setHeader('ETag', etag);
  response.setHeader('Cache-Control', 'no-cache');
  response.setHeader('Content-Security-Policy', contentSecurityPolicy);
  response.setHeader('X-Content-Type-Options', 'nosniff');
  if (request.headers['if-none-match'] === etag) {
    response.writeHead(304).end();
    return;
  }
  response.writeHead(200, { 'Content-Type': type, 'Content-Length': body.length });
  response.end(body);
}

function makeFile(path: string): Served {
  const { type, body } = makers[path]!();
  const file = served(type, body);
  made.set(path, file);
  return file;
}

function served(type: string, body: string | Buffer): Served {
  const bytes = Buffer.from(body);
  return { type, body: bytes, etag: `"${hash('sha256', bytes, 'base64url').slice(0, 22)}"` };
}

/** Returns a file of Swagger UI's package without loading the package, which would keep all of it in memory. */
function distributed(file: string, type: string) {
  const directory = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  return { type, body: readFileSync(join(directory, file)) };
}
