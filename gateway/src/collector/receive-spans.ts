import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '@customer-platform/contracts/core';
import { ClientGone, type Logger, limitReached, sendError, serviceUnavailable } from '@customer-platform/service-kit';
import { tooLarge } from '../bodies/body-limit.ts';
import { WrongTokens } from '../limits/wrong-tokens.ts';
import { maxExportBytes } from './otlp.ts';
import type { TraceThread } from './trace-thread.ts';

const path = '/v1/traces';
/** Exports in memory at once; more are refused, and come again. */
const maxExports = 8;
/** Time for a body. */
const bodyMs = 10_000;

/** Dependencies of the receiver of spans. */
export interface SpanReceiverParts {
  token: string;
  thread: Pick<TraceThread, 'call'>;
  log: Logger;
  addressOf(request: IncomingMessage): string;
}

/**
 * Takes exports of spans as a small OpenTelemetry collector: POST /v1/traces, OTLP/JSON over HTTP, for the holders of the trace token. A thread
 * of its own reads them one after the other; of more than eight at once the exporters send the others again, or drop them.
 */
export class SpanReceiver {
  readonly #parts: SpanReceiverParts;
  readonly #wrongTokens = new WrongTokens();
  #underWay = 0;

  constructor(parts: SpanReceiverParts) {
    this.#parts = parts;
  }

  /** Serves a request to its path; returns whether it was one. */
  serve(request: IncomingMessage, response: ServerResponse): boolean {
    if (request.url !== path) return false;
    void this.#take(request, response).catch((error: unknown) => {
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
    if (this.#underWay >= maxExports) throw tooMany();
    this.#underWay++;
    let rejected: number;
    try {
      rejected = await this.#parts.thread.call('add', await bodyOf(request));
    } finally {
      this.#underWay--;
    }
    if (rejected > 0) limitReached('trace_spans');
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify(rejected > 0 ? partialSuccess(rejected) : {}));
  }
}

function tooMany(): ApiError {
  limitReached('trace_exports');
  return serviceUnavailable('Too many spans arrive; the export is to be sent again later');
}

/** OTLP's response to an export of which a part was rejected; it is not sent again, and exporters log the message. */
function partialSuccess(rejected: number) {
  const errorMessage = 'These spans are too large or too many for one export or one trace';
  return { partialSuccess: { rejectedSpans: String(rejected), errorMessage } };
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

interface Body {
  bytes: Buffer;
  isPacked: boolean;
}

/** Reads a body of at most 4 MiB. Throws 400, 408 and 413, and ClientGone. */
async function bodyOf(request: IncomingMessage): Promise<Body> {
  const { 'content-type': type = '', 'content-encoding': encoding = '', 'content-length': length } = request.headers;
  if (!/^application\/json\b/i.test(type)) {
    const message = 'Content-Type must be application/json: set OTEL_EXPORTER_OTLP_PROTOCOL to http/json';
    throw new ApiError('invalid_request', message, { field: 'body' });
  }
  if (!['', 'identity', 'gzip'].includes(encoding)) {
    throw new ApiError('invalid_request', 'Content-Encoding must be gzip, or left out', { field: 'body' });
  }
  if (Number(length) > maxExportBytes) throw tooLarge(maxExportBytes);
  return { bytes: await readAll(request), isPacked: encoding === 'gzip' };
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let size = 0;
  request.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > maxExportBytes) reject(tooLarge(maxExportBytes));
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
