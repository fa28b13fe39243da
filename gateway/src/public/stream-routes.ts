import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError, type RoutedOperation } from '@customer-platform/contracts/core';
import { ClientGone, type Listener, type Logger, limitReached, retrySoon } from '@customer-platform/service-kit';
import type { ChangeFeed } from '../changes/change-feed.ts';
import { pipeResponse, type Upstream } from '../forward/forward.ts';
import { bearerToken } from '../http/request-head.ts';
import { streamBegan } from '../http/request-log.ts';
import type { KeyCache } from '../keys/key-cache.ts';
import { hashOfKey } from '../keys/key-format.ts';
import type { KeyRecord } from '../keys/key-record.ts';
import { type StreamSlots, tooManyStreams } from '../limits/stream-slots.ts';
import { authorize, refusalOf } from './admission.ts';

/** Interval of the checks of keys that have expired or may have changed. */
const checkEveryMs = 250;
/**
 * Time for which a reader may read nothing while data waits. The service disconnects such a reader too, but the gateway
 * does not see that on a connection that is not being read.
 */
const stallMs = 10_000;
/**
 * Maximum streams of an account, including its sandbox, at one gateway. The kernel buffers megabytes for a slow reader,
 * which this process cannot measure.
 */
const maxOfOwner = 100;
/** Maximum keys read at once. */
const maxReads = 16;
/** Time for which streams continue while their keys cannot be checked. Known keys work for the same time. */
const outageMs = 60_000;

/** An admitted request for a stream. */
export interface StreamCall {
  request: IncomingMessage;
  response: ServerResponse;
  record: KeyRecord;
  operation: RoutedOperation;
  address: string;
  upstream: Upstream;
  /** Prepares the request for the service. */
  prepare(): void;
}

/** An open stream of a key. */
interface OpenStream extends Pick<StreamCall, 'response' | 'operation' | 'address'> {
  /** Hash under which the key is found. */
  readonly hash: string;
  expiresAtMs: number;
  /** The key may have changed since it was read. */
  needsCheck: boolean;
  /** Time since which the reader has read nothing although data waits. Undefined while it reads. */
  stalledSinceMs?: number | undefined;
  /** The data sent so far ends with a complete event. */
  isWhole: boolean;
  /** Response of the service. Undefined until it begins. */
  received?: IncomingMessage;
  /** Aborts the request to the service. */
  readonly leaving: AbortController;
}

/** Dependencies of the streams of a gateway. */
interface StreamParts {
  slots: Pick<StreamSlots, 'take' | 'release'>;
  keys: Pick<KeyCache, 'forget' | 'peek' | 'find'>;
  changes: Pick<ChangeFeed, 'isDatabaseUnavailable' | 'lastGoodMs'>;
  clock: () => Date;
  log: Logger;
}

/**
 * Passes streams on, within the limits of their keys. No stream outlives its key: a revoked, expired or suspended key
 * ends its streams within a second.
 */
export class StreamRoutes implements Pick<Listener, 'close'> {
  readonly #parts: StreamParts;
  readonly #byOwner = new Map<string, Set<OpenStream>>();
  #timer: NodeJS.Timeout | undefined;
  #isChecking = false;
  #isClosed = false;

  constructor(parts: StreamParts) {
    this.#parts = parts;
  }

  /** Resolves once the stream has begun or the service's refusal was sent. Throws the gateway's own refusals, and ClientGone. */
  async pass(call: StreamCall): Promise<void> {
    const { request, response, record, upstream, prepare } = call;
    // The client may have disconnected during the key look-up. A later 'close' event would then never remove the stream.
    if (response.closed) throw new ClientGone();
    const stream = this.#add(call);
    const { signal } = stream.leaving;
    const { slots } = this.#parts;
    const slot = await slots.take(record.keyId);
    response.once('close', () => slots.release(slot));
    if (response.closed) return slots.release(slot);
    prepare();
    const received = await upstream.openStream(request, signal).catch((error: unknown) => {
      slots.release(slot);
      throw signal.aborted ? new ClientGone() : error;
    });
    stream.received = received;
    response.writeHead(received.statusCode!, received.headers);
    if (request.method !== 'HEAD' && received.headers['content-type']?.startsWith('text/event-stream')) {
      response.flushHeaders();
      response.emit(streamBegan);
      received.on('data', trackWholeEvents(stream));
    }
    pipeResponse(received, response);
  }

  /** Drops the cached keys of these accounts, and checks which of their streams may continue. */
  forgetKeys(accountIds: ReadonlySet<string> | 'all'): void {
    this.#parts.keys.forget(accountIds);
    for (const [ownerId, streams] of this.#byOwner) {
      if (accountIds === 'all' || accountIds.has(ownerId)) for (const stream of streams) stream.needsCheck = true;
    }
    void this.#check();
  }

  /** Ends all streams. Their readers reconnect. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const stream of this.#all()) end(stream);
  }

  /** Adds a stream until its response closes. Throws 429 with Retry-After if its account has the maximum. */
  #add({ request, response, operation, address, record: { ownerId, expiresAtMs } }: StreamCall): OpenStream {
    const streams = this.#byOwner.get(ownerId) ?? new Set();
    if (streams.size >= maxOfOwner) throw tooManyStreams('account', maxOfOwner);
    const hash = hashOfKey(bearerToken(request)!);
    const leaving = new AbortController();
    // The key may have changed since it was read, so it is checked again.
    const state = { needsCheck: true, isWhole: true, leaving };
    const stream: OpenStream = { response, operation, address, hash, expiresAtMs, ...state };
    this.#byOwner.set(ownerId, streams.add(stream));
    this.#timer ??= setInterval(() => void this.#check(), checkEveryMs);
    response.once('close', () => {
      leaving.abort(new ClientGone());
      streams.delete(stream);
      if (streams.size === 0) this.#byOwner.delete(ownerId);
      if (this.#byOwner.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    });
    response.on('drain', () => {
      stream.stalledSinceMs = undefined;
    });
    if (this.#isClosed) end(stream);
    return stream;
  }

  #all(): OpenStream[] {
    return [...this.#byOwner.values()].flatMap((streams) => [...streams]);
  }

  async #check(): Promise<void> {
    this.#endExpired();
    this.#cutOffStalled();
    if (this.#isChecking) return;
    this.#isChecking = true;
    try {
      const unchecked = this.#all().filter(({ needsCheck }) => needsCheck);
      const waiting = [...Map.groupBy(unchecked, ({ hash }) => hash)];
      while (waiting.length > 0) {
        await Promise.all(waiting.splice(0, maxReads).map(([hash, streams]) => this.#checkKey(hash, streams)));
      }
    } finally {
      this.#isChecking = false;
    }
  }

  #endExpired(): void {
    const { changes, clock } = this.#parts;
    const nowMs = clock().getTime();
    const isBlind = changes.isDatabaseUnavailable && performance.now() - changes.lastGoodMs > outageMs;
    for (const stream of this.#all()) if (isBlind || stream.expiresAtMs <= nowMs) end(stream);
  }

  #cutOffStalled(): void {
    const nowMs = performance.now();
    for (const stream of this.#all()) {
      const { response } = stream;
      stream.stalledSinceMs = response.writableNeedDrain ? (stream.stalledSinceMs ?? nowMs) : undefined;
      if (nowMs - (stream.stalledSinceMs ?? nowMs) < stallMs) continue;
      limitReached('stream_backlog');
      response.destroy();
    }
  }

  async #checkKey(hash: string, streams: readonly OpenStream[]): Promise<void> {
    // A change from now on marks the stream again.
    for (const stream of streams) stream.needsCheck = false;
    try {
      const record = this.#parts.keys.peek(hash) ?? (await this.#parts.keys.find(hash));
      for (const stream of streams) if (!mayContinue(stream, record)) end(stream);
    } catch (error) {
      for (const stream of streams) stream.needsCheck = true;
      if (!(error instanceof ApiError))
        this.#parts.log.error({ err: error }, 'the key of a stream could not be checked');
    }
  }
}

/** Returns whether a stream's key may still read it, and updates its expiry. */
function mayContinue(stream: OpenStream, record: KeyRecord | null): boolean {
  if (!record || refusalOf(record, stream.address)) return false;
  try {
    authorize(record, stream.operation);
  } catch (error) {
    if (error instanceof ApiError) return false;
    throw error;
  }
  stream.expiresAtMs = record.expiresAtMs;
  return true;
}

/** Ends a stream. Does not send the rest of a partly sent event: readers drop an event without an empty line, and receive it again. */
function end({ response, received, leaving, isWhole }: OpenStream): void {
  received?.unpipe(response);
  leaving.abort(new ClientGone());
  if (response.closed || response.writableEnded) return;
  if (response.headersSent) response.end(isWhole ? retrySoon() : undefined);
  else response.destroy();
}

/** Returns a listener for chunks that records whether the data so far ends with an empty line. */
function trackWholeEvents(stream: OpenStream): (chunk: Buffer) => void {
  let last = 0;
  return (chunk) => {
    const before = chunk.length > 1 ? chunk[chunk.length - 2] : last;
    last = chunk[chunk.length - 1] ?? last;
    stream.isWhole = before === 10 && last === 10;
  };
}
