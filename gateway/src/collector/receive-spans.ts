import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '@customer-platform/contracts/core';
import { ClientGone, type Logger, limitReached, sendError, serviceUnavailable } from '@customer-platform/service-kit';
import { tooLarge } from '../bodies/body-intake.ts';
import { bearerToken, tokenRefusal } from '../http/request-head.ts';
import { WrongTokens } from '../limits/wrong-tokens.ts';
import { maxExportBytes } from './otlp.ts';
import type { TraceThread } from './trace-thread.ts';

const path = '/v1/traces';
/** Maximum exports in memory at once. Further exports are refused, and exporters retry them. */
const maxExports = 8;

/** Dependencies of the receiver of spans. */
export interface SpanReceiverParts {
  token: string;
  thread: Pick<TraceThread, 'call'>;
  log: Logger;
  addressOf(request: IncomingMessage): string;
}

/**
 * Receives exports of spans like a small OpenTelemetry collector: POST /v1/traces, OTLP/JSON over HTTP, with the trace token. A separate thread reads
 * one export at a time. Beyond eight at once exports are refused, and exporters retry or drop them.
 */
export class SpanReceiver {
  readonly #parts: SpanReceiverParts;
  readonly #wrongTokens = new WrongTokens();
  #inProgress = 0;

  constructor(parts: SpanReceiverParts) {
    this.#parts = parts;
  }

  /** Serves a request to /v1/traces; returns whether the request had that path. */
  serve(request: IncomingMessage, response: ServerResponse): boolean {
    if (request.url !== path) return false;
    void this.#take(request, response).catch((error: unknown) => {
      // The rest of the body is not read.
      if (!response.headersSent) response.setHeader('Connection', 'close');
      sendError(response, request.socket.destroyed ? new ClientGone() : error, this.#parts.log);
    });
    return true;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { token, thread, log, addressOf } = this.#parts;
    if (request.method !== 'POST') {
      const message = `This path accepts POST, not ${request.method}`;
      throw new ApiError('invalid_request', message, { status: 405, headers: { Allow: 'POST' } });
    }
    if (!isToken(bearerToken(request) ?? '', token)) {
      const refusal = tokenRefusal(request, 'trace', 'TRACE_TOKEN');
      return this.#wrongTokens.refuse(addressOf(request), refusal, response, () => sendError(response, refusal, log));
    }
    if (this.#inProgress >= maxExports) {
      limitReached('trace_exports');
      throw serviceUnavailable('Too many exports are in progress; send the export again later');
    }
    this.#inProgress++;
    let rejected: number;
    try {
      rejected = await thread.call('add', await bodyOf(request));
    } finally {
      this.#inProgress--;
    }
    if (rejected > 0) limitReached('trace_spans');
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify(rejected > 0 ? partialSuccess(rejected) : {}));
  }
}

function isToken(given: string, token: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', token, 'buffer'));
}

/** OTLP's response to a partly rejected export. Exporters log its message and do not send the export again. */
function partialSuccess(rejected: number) {
  const errorMessage = 'These spans exceed the size limit of a trace';
  return { partialSuccess: { rejectedSpans: String(rejected), errorMessage } };
}

/** Reads a body of at most 4 MiB. Throws 400 or 413. */
async function bodyOf(request: IncomingMessage): Promise<{ bytes: Buffer; isPacked: boolean }> {
  const { 'content-type': type = '', 'content-encoding': encoding = '', 'content-length': length } = request.headers;
  if (!/^application\/json\b/i.test(type)) {
    const message = 'Content-Type must be application/json: set OTEL_EXPORTER_OTLP_PROTOCOL to http/json';
    throw new ApiError('invalid_request', message, { field: 'body' });
  }
  if (!['', 'identity', 'gzip'].includes(encoding)) {
    throw new ApiError('invalid_request', 'Content-Encoding must be gzip, or left out', { field: 'body' });
  }
  if (Number(length) > maxExportBytes) throw tooLarge(maxExportBytes);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    size += chunk.length;
    if (size > maxExportBytes) throw tooLarge(maxExportBytes);
    chunks.push(chunk);
  }
  return { bytes: Buffer.concat(chunks), isPacked: encoding === 'gzip' };
}
