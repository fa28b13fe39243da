import type { ServerResponse } from 'node:http';
import { ApiError, type RoutedOperation } from '@customer-platform/contracts/core';
import { type Listener, type Logger, limitReached, retrySoon } from '@customer-platform/service-kit';
import type { ChangeFeed } from '../changes/change-feed.ts';
import type { KeyCache } from '../keys/key-cache.ts';
import type { KeyRecord } from '../keys/key-record.ts';
import { tooManyStreams } from '../limits/stream-slots.ts';
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

/** A stream that a key has open. */
export interface OpenStream {
  readonly response: ServerResponse;
  /** Hash of the key, by which it is found. */
  readonly hash: string;
  readonly ownerId: string;
  readonly address: string;
  readonly operation: RoutedOperation;
  expiresAtMs: number;
  /** The key may have changed since it was read. */
  isDoubtful: boolean;
  /** Time since which the reader has taken nothing although something waits; undefined where it takes all. */
  stalledSinceMs?: number | undefined;
  /** Stops what comes from the service; returns whether what was sent ends with a whole event. */
  halt(): boolean;
}

/** Dependencies of the streams of a gateway. */
interface StreamParts {
  keys: Pick<KeyCache, 'forget' | 'peek' | 'find'>;
  changes: Pick<ChangeFeed, 'isDatabaseUnavailable' | 'lastGoodMs'>;
  clock: () => Date;
  log: Logger;
}

/** The streams that are open at this gateway. None outlives its key: one that is revoked, expired or suspended ends them within a second. */
export class OpenStreams implements Pick<Listener, 'close'> {
  readonly #parts: StreamParts;
  readonly #open = new Set<OpenStream>();
  readonly #byOwner = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #isChecking = false;
  #isClosed = false;

  constructor(parts: StreamParts) {
    this.#parts = parts;
  }

  /** Adds a stream, from before it is sent until its response has closed. Throws 429 with Retry-After where its account has as many as it may. */
  add(stream: OpenStream): void {
    const { ownerId } = stream;
    const others = this.#byOwner.get(ownerId) ?? 0;
    if (others >= maxOfOwner) throw tooManyStreams('account', maxOfOwner);
    this.#byOwner.set(ownerId, others + 1);
    this.#open.add(stream);
    stream.response.once('close', () => this.#remove(stream));
    stream.response.on('drain', () => {
      stream.stalledSinceMs = undefined;
    });
    this.#timer ??= setInterval(() => void this.#check(), checkEveryMs);
    if (this.#isClosed) end(stream);
  }

  /** Drops what is known of these accounts' keys, which have changed, and checks by them which of their streams may go on. */
  forgetKeys(accountIds: ReadonlySet<string> | 'all'): void {
    this.#parts.keys.forget(accountIds);
    for (const stream of this.#open) {
      if (accountIds === 'all' || accountIds.has(stream.ownerId)) stream.isDoubtful = true;
    }
    void this.#check();
  }

  /** Ends all streams, whose readers connect again. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const stream of this.#open) end(stream);
  }

  #remove(stream: OpenStream): void {
    this.#open.delete(stream);
    const left = this.#byOwner.get(stream.ownerId)! - 1;
    if (left > 0) this.#byOwner.set(stream.ownerId, left);
    else this.#byOwner.delete(stream.ownerId);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #check(): Promise<void> {
    this.#endExpired();
    this.#cutOffStalled();
    if (this.#isChecking) return;
    this.#isChecking = true;
    try {
      const doubtful = Map.groupBy(
        this.#open.values().filter(({ isDoubtful }) => isDoubtful),
        ({ hash }) => hash,
      );
      const waiting = [...doubtful];
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
    for (const stream of this.#open) if (isBlind || stream.expiresAtMs <= nowMs) end(stream);
  }

  #cutOffStalled(): void {
    const nowMs = performance.now();
    for (const stream of this.#open) {
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
function end({ response, halt }: OpenStream): void {
  const isWhole = halt();
  if (response.closed || response.writableEnded) return;
  if (response.headersSent) response.end(isWhole ? retrySoon() : undefined);
  else response.destroy();
}
