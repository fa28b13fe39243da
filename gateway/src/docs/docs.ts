import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { openApiDocument } from '@customer-platform/contracts/openapi';
import { isReading, pathOf } from '@customer-platform/service-kit';

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

/** Documents by path; each is made at its first request and cached. */
const makers: Record<string, () => { type: string; body: string | Buffer }> = {
  '/v1/openapi.json': () => ({ type: 'application/json; charset=utf-8', body: JSON.stringify(openApiDocument()) }),
  '/docs': () => ({ type: 'text/html; charset=utf-8', body: page }),
  '/docs/start.js': () => ({ type: 'text/javascript; charset=utf-8', body: startScript }),
  '/docs/swagger-ui.css': () => distributed('swagger-ui.css', 'text/css; charset=utf-8'),
  '/docs/swagger-ui-bundle.js': () => distributed('swagger-ui-bundle.js', 'text/javascript; charset=utf-8'),
  '/docs/favicon-32x32.png': () => distributed('favicon-32x32.png', 'image/png'),
};

const made = new Map<string, ReturnType<typeof makeDocument>>();

/** Serves the OpenAPI document and its page; returns whether the path was one of theirs. Throws 405. */
export function serveDocs(request: IncomingMessage, response: ServerResponse): boolean {
  const url = request.url!;
  if (!(url.startsWith('/docs') || url.startsWith('/v1/openapi.json'))) return false;
  const path = pathOf(request);
  if (!Object.hasOwn(makers, path)) return false;
  if (!isReading(request, response)) return true;
  const document = made.get(path) ?? makeDocument(path);
  response.setHeader('ETag', document.etag);
  response.setHeader('Cache-Control', 'no-cache');
  response.setHeader('Content-Security-Policy', contentSecurityPolicy);
  response.setHeader('X-Content-Type-Options', 'nosniff');
  if (request.headers['if-none-match'] === document.etag) {
    response.writeHead(304).end();
    return true;
  }
  response.writeHead(200, { 'Content-Type': document.type, 'Content-Length': document.body.length });
  response.end(document.body);
  return true;
}

function makeDocument(path: string) {
  const { type, body } = makers[path]!();
  const bytes = Buffer.from(body);
  const document = { type, body: bytes, etag: `"${hash('sha256', bytes, 'base64url').slice(0, 22)}"` };
  made.set(path, document);
  return document;
}

/** Returns a file of Swagger UI's package without loading the package, which would keep all of it in memory. */
function distributed(file: string, type: string) {
  const directory = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  return { type, body: readFileSync(join(directory, file)) };
}
