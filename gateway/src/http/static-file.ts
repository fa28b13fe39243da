import { hash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';

/** A file in memory, plain and compressed. */
export interface StaticFile {
  type: string;
  bytes: Uint8Array;
  gzipped: Uint8Array;
  etag: string;
}

/** Returns a file of these bytes. Its tag is weak, since it is that of the plain and of the compressed bytes. */
export function staticFile(type: string, bytes: Uint8Array, gzipped: Uint8Array = gzipSync(bytes)): StaticFile {
  return { type, bytes, gzipped, etag: `W/"${hash('sha256', bytes, 'base64url').slice(0, 22)}"` };
}

/** Sends a file, compressed if the client takes that; 304 if the client has it. */
export function sendStaticFile(
  request: IncomingMessage,
  response: ServerResponse,
  { type, bytes, gzipped, etag }: StaticFile,
  headers: Record<string, string>,
): void {
  response.setHeaders(new Map(Object.entries({ ETag: etag, Vary: 'Accept-Encoding', ...headers })));
  if (request.headers['if-none-match'] === etag) {
    response.writeHead(304).end();
    return;
  }
  const isGzipped = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''));
  if (isGzipped) response.setHeader('Content-Encoding', 'gzip');
  const body = isGzipped ? gzipped : bytes;
  response.writeHead(200, { 'Content-Type': type, 'Content-Length': body.length });
  response.end(request.method === 'HEAD' ? undefined : body);
}
