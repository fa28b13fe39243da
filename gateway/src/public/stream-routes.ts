import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError, type RoutedOperation } from '@customer-platform/contracts/core';
import { ClientGone, type Listener, type Logger, limitReached, retrySoon } from '@customer-platform/service-kit';
import type { ChangeFeed } from '../changes/change-feed.ts';
import { passOn, type Upstream } from '../forward/forward.ts';
import { bearerToken } from '../http/request-head.ts';
import { streamBegan } from '../http/request-log.ts';
import type { KeyCache } from '../keys/key-cache.ts';
import { hashOfKey } from '../keys/key-format.ts';
import type { KeyRecord } from '../keys/key-record.ts';
import { type StreamSlots, tooManyStreams } from '../limits/stream-slots.ts';
import { authorise, refusalOf } from './admission.ts';

/** Interval at which keys are checked that expire, or that may have changed. */
const checkEveryMs = 250;
/**
 * Time for which a reader may take nothing while more waits for it. The service cuts it off too, but a connection that is not read says
 * nothing of that here.
 */
const stallMs = 10_000;
/**
 * Streams that an account, with its sandbox, may have at one gateway: of one that is hardly read the connection itself holds megabytes, of which
 * nothing is known here.
 */
const maxOfOwner = 100;
/** Keys that are read at once. */
const maxReads = 16;
/** Time for which streams go on while nobody knows what became of their keys, as known keys do. */
const outageMs = 60_000;

/** A request for a stream that was admitted. */
export interface StreamCall {
  request: IncomingMessage;
  response: ServerResponse;
  record: KeyRecord;
  operation: RoutedOperation;
  address: string;
  upstream: Upstream;
  /** Makes the request what is sent to the service. */
  prepare(): void;
}

/** A stream that a key has open. */
interface OpenStream extends Pick<StreamCall, 'response' | 'operation' | 'address'> {
  /** Hash of the key, by which it is found. */
  readonly hash: string;
  expiresAtMs: number;
  /** The key may have changed since it was read. */
  isDoubtful: boolean;
  /** Time since which the reader has taken nothing although something waits; undefined where it takes all. */
  stalledSinceMs?: number | undefined;
  /** What was sent ends with a whole event. */
  isWhole: boolean;
  /** Response of the service; undefined until it has begun. */
  received?: IncomingMessage;
  /** Ends the request to the service. */
  readonly leaving: AbortController;
}

/** Dependencies of the streams of a gateway. */
interface StreamParts {
  slots: Pick<StreamSlots, 'take' | 'giveBack'>;
  keys: Pick<KeyCache, 'forget' | 'peek' | 'find'>;
  changes: Pick<ChangeFeed, 'isDatabaseUnavailable' | 'lastGoodMs'>;
  clock: () => Date;
  log: Logger;
}

/**
 * Passes streams on: as many as their keys may have, for as long as they may. None outlives its key: one that is revoked, expired or suspended ends
 * them within a second.
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

  /** Returns once the stream has begun, or its refusal was sent. Throws what it is refused with here, and ClientGone. */
  async pass(call: StreamCall): Promise<void> {
    const { request, response, record, upstream, prepare } = call;
    // It can have left while its key was looked up: nothing would take it out of what is open.
    if (response.closed) throw new ClientGone();
    const stream = this.#add(call);
    const { signal } = stream.leaving;
    const { slots } = this.#parts;
    const slot = await slots.take(record.keyId);
    response.once('close', () => slots.giveBack(slot));
    if (response.closed) return slots.giveBack(slot);
    prepare();
    const received = await upstream.openStream(request, signal).catch((error: unknown) => {
      slots.giveBack(slot);
      throw signal.aborted ? new ClientGone() : error;
    });
    stream.received = received;
    response.writeHead(received.statusCode!, received.headers);
    if (request.method !== 'HEAD' && received.headers['content-type']?.startsWith('text/event-stream')) {
      response.flushHeaders();
      response.emit(streamBegan);
      received.on('data', notesWholeEvents(stream));
    }
    passOn(received, response);
  }

  /** Drops what is known of these accounts' keys, which have changed, and checks by them which of their streams may go on. */
  forgetKeys(accountIds: ReadonlySet<string> | 'all'): void {
    this.#parts.keys.forget(accountIds);
    for (const [ownerId, streams] of this.#byOwner) {
      if (accountIds === 'all' || accountIds.has(ownerId)) for (const stream of streams) stream.isDoubtful = true;
    }
    void this.#check();
  }

  /** Ends all streams, whose readers connect again. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const stream of this.#all()) end(stream);
  }

  /** Adds a stream until its response has closed. Throws 429 with Retry-After where its account has as many as it may. */
  #add({ request, response, operation, address, record: { ownerId, expiresAtMs } }: StreamCall): OpenStream {
    const streams = this.#byOwner.get(ownerId) ?? new Set();
    if (streams.size >= maxOfOwner) throw tooManyStreams('account', maxOfOwner);
    const hash = hashOfKey(bearerToken(request)!);
    const leaving = new AbortController();
    // Doubtful from here on: its key may have changed since it was read.
    const state = { isDoubtful: true, isWhole: true, leaving };
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
      const doubtful = this.#all().filter(({ isDoubtful }) => isDoubtful);
      const waiting = [...Map.groupBy(doubtful, ({ hash }) => hash)];
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
    // What changes from here on makes it doubtful again.
    for (const stream of streams) stream.isDoubtful = false;
    try {
      const record = this.#parts.keys.peek(hash) ?? (await this.#parts.keys.find(hash));
      for (const stream of streams) if (!mayGoOn(stream, record)) end(stream);
    } catch (error) {
      for (const stream of streams) stream.isDoubtful = true;
      if (!(error instanceof ApiError))
        this.#parts.log.error({ err: error }, 'the key of a stream could not be checked');
    }
  }
}

/** Returns whether a stream's key may still read it; notes when it expires. */
function mayGoOn(stream: OpenStream, record: KeyRecord | null): boolean {
  if (!record || refusalOf(record, stream.address)) return false;
  try {
    authorise(record, stream.operation);
  } catch (error) {
    if (error instanceof ApiError) return false;
    throw error;
  }
  stream.expiresAtMs = record.expiresAtMs;
  return true;
}

/** Ends a stream. Of an event that is half sent the rest is not: readers drop what no empty line ends, and get it again. */
function end({ response, received, leaving, isWhole }: OpenStream): void {
  received?.unpipe(response);
  leaving.abort(new ClientGone());
  if (response.closed || response.writableEnded) return;
  if (response.headersSent) response.end(isWhole ? retrySoon() : undefined);
  else response.destroy();
}

/** Returns a listener of chunks that notes after each whether what has come so far ends with an empty line. */
function notesWholeEvents(stream: OpenStream): (chunk: Buffer) => void {
  let last = 0;
  return (chunk) => {
    const before = chunk.length > 1 ? chunk[chunk.length - 2] : last;
    last = chunk[chunk.length - 1] ?? last;
    stream.isWhole = before === 10 && last === 10;
  };
}
