import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { ApiError } from '@customer-platform/contracts/core';
import { ClientGone, type Logger, limitReached, sendError, serviceUnavailable } from '@customer-platform/service-kit';
import { tooLarge } from '../bodies/body-limit.ts';
import { WrongTokens } from '../wrong-tokens.ts';
import { MalformedExport, readExport } from './otlp.ts';
import type { TraceStore } from './trace-store.ts';

const path = '/v1/traces';
const maxBodyBytes = 4 * 1_048_576;
/** Exports in memory at once; more are refused, and come again. */
const maxExports = 8;
/** Time for a body. */
const bodyMs = 10_000;
/** Part of the processor's time that reading exports may take, and how much of it at once: API requests go first. */
const timeRatio = 0.2;
const burstMs = 1_000;

const unpack = promisify(gunzip);

/** Dependencies of the receiver of spans. */
export interface SpanReceiverParts {
  token: string;
  store: TraceStore;
  log: Logger;
  addressOf(request: IncomingMessage): string;
}

/**
 * Takes exports of spans as a small OpenTelemetry collector: POST /v1/traces, OTLP/JSON over HTTP, for the holders of the trace token. A
 * flood costs at most a fifth of the processor's time; what is refused for it the exporters send again, or drop.
 */
export class SpanReceiver {
  readonly #parts: SpanReceiverParts;
  readonly #wrongTokens = new WrongTokens();
  #underWay = 0;
  #leftMs = burstMs;
  #refilledAtMs = performance.now();

  constructor(parts: SpanReceiverParts) {
    this.#parts = parts;
  }

  /** Serves a request to its path; returns whether it was one. */
  serve(request: IncomingMessage, response: ServerResponse): boolean {
    if (request.url !== path) return false;
    void this.#take(request, response).catch((error: unknown) => {
      if (error instanceof ClientGone) return;
      // What is left of the body is not read.
      if (!response.headersSent) response.setHeader('Connection', 'close');
      sendError(response, error, this.#parts.log);
    });
    return true;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST') {
      const message = `This path takes POST, not ${request.method}`;
      throw new ApiError('invalid_request', message, { status: 405, headers: { Allow: 'POST' } });
    }
    const refusal = refusalOf(request.headers.authorization, this.#parts.token);
    if (refusal) {
      const address = this.#parts.addressOf(request);
      if (refusal.code === 'invalid_key') this.#wrongTokens.count(address);
      this.#wrongTokens.delay(address, response, () => sendError(response, refusal, this.#parts.log));
      return;
    }
    if (this.#underWay >= maxExports || !this.#hasTime()) {
      limitReached('trace_exports');
      throw serviceUnavailable('Too many spans arrive; the export is to be sent again later');
    }
    this.#underWay++;
    try {
      const bytes = await bodyOf(request);
      this.#store(bytes);
    } finally {
      this.#underWay--;
    }
    response.setHeader('Content-Type', 'application/json');
    response.end('{}');
  }

  #store(bytes: Buffer): void {
    const beganMs = performance.now();
    try {
      this.#parts.store.add(readExport(bytes.toString('utf8')));
    } catch (error) {
      if (!(error instanceof MalformedExport)) throw error;
      throw new ApiError('invalid_request', error.message, { field: 'body', cause: error });
    } finally {
      this.#leftMs -= performance.now() - beganMs;
    }
  }

  #hasTime(): boolean {
    const nowMs = performance.now();
    this.#leftMs = Math.min(burstMs, this.#leftMs + (nowMs - this.#refilledAtMs) * timeRatio);
    this.#refilledAtMs = nowMs;
    return this.#leftMs > 0;
  }
}

function refusalOf(authorization: string | undefined, token: string): ApiError | undefined {
  const headers = { 'WWW-Authenticate': 'Bearer' };
  const given = /^bearer +(\S.*)$/i.exec(authorization ?? '')?.[1];
  if (given === undefined) {
    return new ApiError('key_required', 'Send the trace token: Authorization: Bearer <TRACE_TOKEN>', { headers });
  }
  const isRight = timingSafeEqual(hash('sha256', given.trim(), 'buffer'), hash('sha256', token, 'buffer'));
  return isRight ? undefined : new ApiError('invalid_key', 'The trace token is wrong', { headers });
}

/** Reads a body of at most 4 MiB, also once unpacked. Throws 400, 408 and 413, and ClientGone. */
async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const { 'content-type': type = '', 'content-encoding': encoding = '', 'content-length': length } = request.headers;
  if (!/^application\/json\b/i.test(type)) {
    const message = 'Content-Type must be application/json: set OTEL_EXPORTER_OTLP_PROTOCOL to http/json';
    throw new ApiError('invalid_request', message, { field: 'body' });
  }
  if (Number(length) > maxBodyBytes) throw tooLarge(maxBodyBytes);
  const body = await readAll(request);
  if (encoding === '' || encoding === 'identity') return body;
  if (encoding !== 'gzip') {
    throw new ApiError('invalid_request', 'Content-Encoding must be gzip, or left out', { field: 'body' });
  }
  try {
    return await unpack(body, { maxOutputLength: maxBodyBytes });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(maxBodyBytes);
    throw new ApiError('invalid_request', 'body must be whole and valid gzip', { field: 'body', cause: error });
  }
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let size = 0;
  request.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > maxBodyBytes) reject(tooLarge(maxBodyBytes));
    else chunks.push(chunk);
  });
  request.on('end', () => resolve(Buffer.concat(chunks, size)));
  request.on('close', () => reject(new ClientGone()));
  request.on('error', () => reject(new ClientGone()));
  const late = () => reject(new ApiError('invalid_request', 'body must arrive within 10 s', { status: 408 }));
  const timer = setTimeout(late, bodyMs);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    request.removeAllListeners('data');
  }
}
