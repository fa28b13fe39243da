import { traceHeaders, whenLate } from '@customer-platform/service-kit';
import type { Dispatcher } from 'undici';
import {
  CollectedBytes,
  decodeResponse,
  maxCompressedBytes,
  maxInformational,
  maxResponseBytes,
  shownText,
} from './bodies.ts';
import { ConnectionPools, type PoolBounds, type PoolEntry } from './connection-pools.ts';
import {
  ConnectError,
  type ConnectFailure,
  createGuardedConnector,
  type GuardedConnectorOptions,
  parseUrl,
} from './guarded-connector.ts';
import { inRequestSpan } from './request-span.ts';
import { parseRetryAfter } from './retry-after.ts';

/** Class of a failed attempt, with or without a status. */
export type PostError = ConnectFailure | 'too_large';

/**
 * Result of one POST; see `isSuccess`. `body` has at most 2 KiB, or `keptBytes`. `retryAfterMs` is at most a day.
 * `durationMs` lasts from the call to the last byte.
 */
export type PostResult = {
  status?: number;
  error?: PostError;
  /** Aborted by the caller. `error` is then http. */
  isAborted?: true;
  body: string;
  durationMs: number;
  retryAfterMs?: number;
};

/** One POST. Requests with the same `poolKey` and origin share connections. The body is sent byte for byte. */
export type PostRequest = {
  poolKey: string;
  url: string;
  headers: Record<string, string>;
  body: string | Buffer;
  /** Also sends the trace context, which the receiver may continue. */
  continuesTrace?: true;
};

export type PosterOptions = Omit<GuardedConnectorOptions, 'connectTimeoutMs'> &
  PoolBounds & {
    /** One deadline for DNS, connection, TLS, headers and body. */
    timeoutMs: number;
    /** Bytes kept of a response's body. Default: 2 KiB. */
    keptBytes?: number;
    /** For requests that must not arrive twice: disables the resend after a reused connection was closed. */
    neverResends?: true;
  };

export type Poster = {
  /** Never rejects: every outcome is a PostResult. */
  post(request: PostRequest): Promise<PostResult>;
  /** Aborts every POST with this `poolKey` that is in flight, with its connections and connection attempts. */
  abort(poolKey: string): void;
  openSockets(): number;
  /** Closes every connection. POSTs in flight end with the error http. */
  close(): Promise<void>;
};

/** Returns whether a POST succeeded: the status is 2xx and the whole response was read. */
export function isSuccess(result: PostResult): boolean {
  return result.error === undefined && result.status !== undefined && result.status >= 200 && result.status < 300;
}

/** Maximum chunks of a response, eight bytes each at the longest response. Chunks of a single byte cost many times their content. */
const maxChunks = 8_192;
/** Size of the buffer that most responses fit into. */
const firstBytes = 1_024;
const noBytes = Buffer.alloc(0);

/** Creates the client for customers' addresses: checked targets, reused HTTP/1.1 connections, one deadline, no redirects. */
export function createPoster(options: PosterOptions): Poster {
  const { timeoutMs } = options;
  const connect = createGuardedConnector({ ...options, connectTimeoutMs: timeoutMs });
  const pools = new ConnectionPools(connect, options);

  const send = async (request: PostRequest, target: URL): Promise<PostResult> => {
    const { body } = request;
    const headers = request.continuesTrace ? { ...request.headers, ...traceHeaders() } : request.headers;
    const path = target.pathname + target.search;
    const entry = pools.take(request.poolKey, target.origin);
    const attempt = new Attempt(entry, { origin: target.origin, path, method: 'POST', headers, body }, options);
    const cancelDeadline = whenLate(timeoutMs, () => attempt.stop('timeout'));
    attempt.send();
    const result = await attempt.done.promise;
    cancelDeadline();
    pools.release(entry);
    return result;
  };

  return {
    async post(request) {
      const target = parseUrl(request.url);
      if (!target || !/^https?:$/.test(target.protocol)) return { error: 'blocked', body: '', durationMs: 0 };
      return await inRequestSpan('POST', target, 300, () => send(request, target));
    },
    abort: (key) => pools.abort(key),
    openSockets: () => pools.openSockets,
    close: () => pools.close(),
  };
}

/** One attempt in flight: collects the response within its limits and settles `done` exactly once. */
class Attempt implements Dispatcher.DispatchHandler {
  private readonly startedAtMs = performance.now();
  private isOver = false;
  readonly done = Promise.withResolvers<PostResult>();
  private readonly entry: PoolEntry;
  private readonly target: Dispatcher.DispatchOptions;
  private readonly options: Pick<PosterOptions, 'keptBytes' | 'neverResends'>;
  private controller: Dispatcher.DispatchController | undefined;
  private status: number | undefined;
  private retryAfterMs: number | undefined;
  private informational = 0;
  private encoding = '';
  private received: CollectedBytes | undefined;
  private chunks = 0;

  constructor(entry: PoolEntry, target: Dispatcher.DispatchOptions, options: PosterOptions) {
    this.entry = entry;
    this.options = options;
    this.target = target;
  }

  send(): void {
    const dispatcher = this.options.neverResends ? this.entry.pool : this.entry.resending;
    dispatcher.dispatch(this.target, this);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    // The deadline passed while the request waited for a connection, so it is not sent.
    if (this.isOver) controller.abort(new Error('the deadline has passed'));
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Record<string, unknown>): void {
    if (status < 200) {
      if (++this.informational > maxInformational) this.stop('http');
      return;
    }
    this.status = status;
    this.retryAfterMs = parseRetryAfter(String([headers['retry-after']].flat()[0] ?? ''), Date.now());
    this.encoding = String(headers['content-encoding'] ?? '');
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.isOver) return;
    this.received ??= new CollectedBytes(firstBytes, this.encoding === '' ? maxResponseBytes : maxCompressedBytes);
    if (!this.received.add(chunk) || ++this.chunks > maxChunks) this.stop('too_large');
  }

  onResponseEnd(): void {
    if (this.isOver) return;
    if (this.encoding === '') this.settle(undefined);
    else void this.decodeAndSettle(this.received?.bytes ?? noBytes);
  }

  onResponseError(_: Dispatcher.DispatchController | null, error: Error): void {
    this.settle(error instanceof ConnectError ? error.failure : 'http');
  }

  /** Settles the attempt with an error of this client and aborts its request. */
  stop(error: PostError): void {
    this.settle(error);
    this.controller?.abort(new Error(`stopped: ${error}`));
  }

  private async decodeAndSettle(bytes: Buffer): Promise<void> {
    const body = await decodeResponse(bytes, this.encoding);
    if (body === 'too_large') this.settle('too_large');
    else this.settle(undefined, body);
  }

  /** Settles the attempt. `decoded` is the body of a response with an encoding, if the whole body arrived. */
  private settle(error: PostError | undefined, decoded: Buffer = noBytes): void {
    if (this.isOver) return;
    this.isOver = true;
    const body = this.encoding === '' ? (this.received?.bytes ?? noBytes) : decoded;
    const result: PostResult = {
      body: shownText(body, this.options.keptBytes),
      durationMs: Math.round(performance.now() - this.startedAtMs),
    };
    if (this.status !== undefined) result.status = this.status;
    const isLongFailure =
      error === 'too_large' && this.status !== undefined && (this.status < 200 || this.status > 299);
    if (error !== undefined && !isLongFailure) result.error = error;
    if (error !== undefined && this.entry.isAborted) result.isAborted = true;
    if (this.retryAfterMs !== undefined) result.retryAfterMs = this.retryAfterMs;
    this.received = undefined;
    this.done.resolve(result);
  }
}
