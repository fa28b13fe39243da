import { hash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import fresh from 'fresh';
import Negotiator from 'negotiator';

/** A file in memory, plain and compressed. Without `gzipped` only the plain file is sent. */
export interface StaticFile {
  type: string;
  bytes: Uint8Array;
  gzipped?: Uint8Array | undefined;
  etag: string;
}

/** Returns a file with these bytes. */
export function staticFile(type: string, bytes: Uint8Array, gzipped: Uint8Array = gzipSync(bytes)): StaticFile {
  return { type, bytes, gzipped, etag: etagOf(bytes) };
}

/** Returns the ETag of a file. It is weak, since the plain and the compressed bytes share it. */
export function etagOf(bytes: Uint8Array): string {
  return `W/"${hash('sha256', bytes, 'base64url').slice(0, 22)}"`;
}

/** Returns whether a client prefers a compressed response. A client that accepts none, as with `*;q=0`, gets the plain one. */
export function prefersGzip(request: IncomingMessage): boolean {
  return new Negotiator(request).encoding(['gzip', 'identity']) === 'gzip';
}

/** Returns whether a client has a file. Checks only If-None-Match, because fetch adds `Cache-Control: no-cache` to it. */
export function isKnown({ headers }: IncomingMessage, etag: string): boolean {
  return fresh({ 'if-none-match': headers['if-none-match'] }, { etag });
}

/** Sends a file, compressed if the client prefers that. Sends 304 instead of 200 if the client has the file. */
export function sendStaticFile(
  request: IncomingMessage,
  response: ServerResponse,
  { type, bytes, gzipped, etag }: StaticFile,
  headers: Record<string, string>,
  status = 200,
): void {
  const vary = response.getHeader('Vary') ?? 'Accept-Encoding';
  response.setHeaders(new Map(Object.entries({ ETag: etag, Vary: String(vary), ...headers })));
  if (status === 200 && isKnown(request, etag)) {
    response.writeHead(304).end();
    return;
  }
  const body = gzipped && prefersGzip(request) ? gzipped : bytes;
  if (body === gzipped) response.setHeader('Content-Encoding', 'gzip');
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': body.length });
  response.end(request.method === 'HEAD' ? undefined : body);
}
