import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { ApiError } from '@customer-platform/contracts/core';
import {
  busy,
  ClientGone,
  FairPermits,
  type Logger,
  limitReached,
  PermitQueue,
  serviceUnavailable,
} from '@customer-platform/service-kit';

const mebibyte = 1_048_576;
/** Default size limit of a body, in bytes. */
export const defaultBodyLimit = mebibyte;
/** Longest wait of an upload for a free file. */
const fileWaitMs = 15_000;
/** Maximum uploads that wait for a file. */
const fileWaiting = 100;
/** Maximum files of an account, as a ratio of the free ones: 4 of 24. */
const fileRatio = 1 / 5;
/**
 * A quarter of the memory is for webhooks, of which an account may hold a quarter. For its
 * other bodies an account may hold a quarter of all memory.
 */
const [hookPart, hookRatio, accountRatio] = [1 / 4, 1 / 3, 1 / 2];

/** Memory that a chunk takes at least, for its object and its part of the read buffer. */
const chunkBytes = 256;

/** Bounds of bodies that are being received. */
export interface BodyBounds {
  /** Each window of this length must receive `bytesPerSecond` on average, or the end of the body. */
  windowMs: number;
  bytesPerSecond: number;
  /** Memory for all bodies, in bytes. */
  memoryBytes: number;
  /** Maximum number of bodies over 1 MiB kept in files at once, and the directory of the files. */
  files: number;
  directory: string;
}

/** Owner and limits of a body. */
export interface BodyTerms {
  kind: 'account' | 'hook';
  /** The account of the key or of the webhook. */
  owner: string;
  /** Maximum size in bytes. */
  limit: number;
  /** The client waits for 100 Continue before it sends the body. */
  continues: boolean;
}

/** A complete body, which can be sent more than once until `release`. `release` is idempotent. */
export interface Body {
  /** Returns a stream from the first byte. */
  stream(): Readable;
  release(): void;
}

/** A body that is being received. */
type Kept = Body & { add(chunk: Buffer): void | Promise<void> };

/** Returns whether a request has a body. */
export function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'];
  return (length !== undefined && length !== '0') || headers['transfer-encoding'] !== undefined;
}

/**
 * Buffers complete bodies before they take a service's socket: in memory up to 1 MiB, in a file above. Memory and files
 * are bounded and shared fairly. A body that arrives too slowly is refused.
 */
export class BodyIntake {
  readonly #bounds: BodyBounds;
  readonly #log: Logger;
  readonly #memory: Record<BodyTerms['kind'], FairPermits>;
  readonly #files: PermitQueue;

  constructor(bounds: BodyBounds, log: Logger) {
    this.#bounds = bounds;
    this.#log = log;
    this.#memory = {
      account: new FairPermits(bounds.memoryBytes * (1 - hookPart), accountRatio),
      hook: new FairPermits(bounds.memoryBytes * hookPart, hookRatio),
    };
    this.#files = new PermitQueue(new FairPermits(bounds.files, fileRatio), fileWaiting, fileWaitMs, 'uploads');
  }

  /**
   * Receives a complete body and sets its length in the request's headers. Throws 408, 413, 429 or 503, and ClientGone.
   */
  take(request: IncomingMessage, response: ServerResponse, terms: BodyTerms): Body | Promise<Body> {
    if (response.closed) throw new ClientGone();
    // Not for a chunked body, which may consist of many small chunks.
    const isHere = request.complete && request.headers['transfer-encoding'] === undefined;
    return isHere ? this.#takeAtOnce(request, response, terms) : this.#takeSlowly(request, response, terms);
  }

  /** Takes a body that arrived with the head and is in the request's own buffer, which is the common case. */
  #takeAtOnce(request: IncomingMessage, response: ServerResponse, terms: BodyTerms): Body {
    const kept = this.#inMemory(terms);
    response.on('close', kept.release);
    for (let chunk: Buffer | null = request.read(); chunk !== null; chunk = request.read()) kept.add(chunk);
    if (terms.continues) response.writeContinue();
    return kept;
  }

  async #takeSlowly(request: IncomingMessage, response: ServerResponse, terms: BodyTerms): Promise<Body> {
    const isLarge = terms.limit > mebibyte && !(Number(request.headers['content-length']) <= mebibyte);
    const kept = isLarge ? await this.#inFile(response, terms) : this.#inMemory(terms);
    response.once('close', kept.release);
    try {
      if (response.closed) throw new ClientGone();
      await this.#receive(request, response, terms, kept);
      return kept;
    } catch (error) {
      kept.release();
      throw error;
    }
  }

  #inMemory({ kind, owner }: BodyTerms): Body & { add(chunk: Buffer): void } {
    const memory = this.#memory[kind];
    let chunks: Buffer[] = [];
    let held = 0;
    return {
      add: (chunk) => {
        const bytes = Math.max(chunk.length, chunkBytes);
        if (!memory.tryTake(owner, bytes)) {
          limitReached('body_memory');
          throw busy(memory.holds(owner), 'The memory for request bodies');
        }
        held += bytes;
        chunks.push(chunk);
      },
      stream: () => {
        let next = 0;
        return new Readable({
          read() {
            this.push(chunks[next++] ?? null);
          },
        });
      },
      release: () => {
        if (held > 0) memory.release(owner, held);
        held = 0;
        chunks = [];
      },
    };
  }

  async #inFile(response: ServerResponse, { owner }: BodyTerms): Promise<Kept> {
    if (!this.#files.tryTake(owner)) await this.#files.wait(owner, 'The file upload', response);
    const file = await openNameless(this.#bounds.directory).catch((error: unknown) => {
      this.#files.release(owner);
      throw this.#noFile(error);
    });
    const streams: Readable[] = [];
    let isOpen = true;
    return {
      add: (chunk) => file.writeFile(chunk).catch((error: unknown) => Promise.reject(this.#noFile(error))),
      stream: () => {
        // A pipe does not forward errors, and an unhandled one ends the process.
        const stream = file.createReadStream({ start: 0, autoClose: false }).once('error', (error) => {
          this.#log.error({ err: error }, "an upload's file could not be read");
          response.destroy();
        });
        streams.push(stream);
        return stream;
      },
      release: () => {
        if (!isOpen) return;
        isOpen = false;
        for (const stream of streams) stream.destroy();
        // close() waits for pending reads.
        file
          .close()
          .catch((error: unknown) => this.#log.warn({ err: error }, "an upload's file could not be closed"))
          .finally(() => this.#files.release(owner));
      },
    };
  }

  /** Reads the body to its end, chunk by chunk. */
  async #receive(request: IncomingMessage, response: ServerResponse, terms: BodyTerms, kept: Kept): Promise<void> {
    const { promise: whole, resolve, reject } = Promise.withResolvers<void>();
    let received = 0;
    let writing: void | Promise<void>;
    const take = (chunk: Buffer) => {
      received += chunk.length;
      try {
        if (received > terms.limit) throw tooLarge(terms.limit);
        writing = kept.add(chunk);
        if (!writing) return;
        request.pause();
        writing.then(() => request.resume(), reject);
      } catch (error) {
        // The data already read may contain thousands of further chunks.
        request.off('data', take);
        reject(error);
      }
    };
    const unwatch = this.#watchPace(request, terms, () => received, reject);
    const gone = () => reject(new ClientGone());
    // The request may end before the last chunk is written.
    const end = () => {
      request.off('close', gone);
      Promise.resolve(writing).then(resolve, reject);
    };
    request.on('data', take).once('end', end).once('close', gone);
    if (terms.continues) response.writeContinue();
    try {
      await whole;
    } finally {
      unwatch();
      request.off('data', take).off('close', gone);
    }
    // The gateway forwards the body unchunked.
    delete request.headers['transfer-encoding'];
    request.headers['content-length'] = String(received);
  }

  /**
   * Calls `late` with 408 if a window receives too little of a body. A webhook's sender is a server, so its first window must complete the body.
   * `received` counts only body bytes, since chunk sizes may have leading zeros. A window at whose end reading is paused does not count.
   */
  #watchPace(
    request: IncomingMessage,
    { kind }: BodyTerms,
    received: () => number,
    late: (error: ApiError) => void,
  ): () => void {
    const { windowMs, bytesPerSecond } = this.#bounds;
    const least = kind === 'hook' ? Number.POSITIVE_INFINITY : (bytesPerSecond * windowMs) / 1_000;
    let before = 0;
    const look = () => {
      const bytes = received();
      if (!request.isPaused() && bytes - before < least) late(tooSlow(this.#bounds));
      before = bytes;
    };
    // Check after the event loop has read what arrived while it was blocked.
    const timer = setInterval(() => setImmediate(look), windowMs);
    return () => clearInterval(timer);
  }

  #noFile(error: unknown): ApiError {
    this.#log.error({ err: error, directory: this.#bounds.directory }, 'an upload could not be written to a file');
    return serviceUnavailable('Files cannot be uploaded right now; try again shortly', error);
  }
}

/** Creates an empty file that is already unlinked, so its space is freed even if the process crashes. */
async function openNameless(directory: string): Promise<FileHandle> {
  const path = join(directory, `upload-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600);
  try {
    await unlink(path);
  } catch (error) {
    await file.close();
    throw error;
  }
  return file;
}

function tooSlow({ windowMs, bytesPerSecond }: BodyBounds): ApiError {
  limitReached('body_pace');
  const message = `body must arrive at ${bytesPerSecond} bytes per second or faster, measured every ${windowMs / 1_000} s`;
  return new ApiError('invalid_request', message, { status: 408, field: 'body', headers: { Connection: 'close' } });
}

/** Throws 413 for a body whose Content-Length is over `limit` bytes, and 400 for a transfer coding other than chunked. */
export function limitBody(request: IncomingMessage, limit: number): void {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
  if (coding === undefined) {
    if (Number(length) > limit) throw tooLarge(limit);
  } else if (coding.toLowerCase() !== 'chunked') {
    const message = 'body must be sent with no Transfer-Encoding other than chunked';
    throw new ApiError('invalid_request', message, { field: 'body' });
  }
}

/** Returns the error for a body over `limit` bytes. */
export function tooLarge(limit: number): ApiError {
  limitReached('body_size');
  const message = `body must be at most ${limit / mebibyte} MiB`;
  return new ApiError('invalid_request', message, { status: 413, field: 'body' });
}
