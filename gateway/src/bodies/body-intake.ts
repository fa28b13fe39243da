import type { IncomingMessage, ServerResponse } from 'node:http';
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
import { createBodyFile } from './body-file.ts';
import { maxUnread, tooLarge } from './body-limit.ts';
import { BodyPace, type Pace } from './body-pace.ts';

const mebibyte = 1_048_576;
/** Longest time that a refused body is still read, so that its sender gets to read the response. */
const refusedBodyMs = 60_000;
/** Longest wait of an upload for a free file. */
const fileWaitMs = 15_000;
/** Most uploads that wait for a file. */
const fileWaiting = 100;
/** Most files of an account, as a ratio of the free ones: 4 of 24. */
const fileRatio = 1 / 5;
/**
 * A quarter of the memory is for hooks, and those of one account may hold a quarter of that; an account may hold a quarter of all
 * memory.
 */
const [hookPart, hookRatio, accountRatio] = [1 / 4, 1 / 3, 1 / 2];

/** Memory that a chunk takes however small it is: its object, and its part of what was read. */
const chunkBytes = 256;

/** Bounds of bodies in progress. */
export interface BodyBounds extends Pace {
  /** Memory for all of them, in bytes. */
  memoryBytes: number;
  /** Most bodies over 1 MiB that are kept in files at once, and their directory. */
  files: number;
  directory: string;
}

/** Owner and limits of a body. */
export interface BodyTerms {
  kind: 'account' | 'hook';
  /** The account, or that of a hook. */
  owner: string;
  /** In bytes. */
  limit: number;
  /** The client waits for 100 Continue before it sends the body. */
  continues: boolean;
}

/** A whole body, which can be sent more than once until it is let go; `letGo` is idempotent. */
export interface Body {
  /** Returns it from its first byte. */
  stream(): Readable;
  letGo(): void;
}

/** A body until it is whole. */
type Kept = Body & { add(chunk: Buffer): void | Promise<void> };

/** Returns whether a request has a body. */
export function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'];
  return (length !== undefined && length !== '0') || headers['transfer-encoding'] !== undefined;
}

/**
 * Buffers whole bodies before they take a service's socket: in memory up to 1 MiB, in a file above. Memory and files
 * are bounded and shared; a body that arrives too slowly is refused.
 */
export class BodyIntake {
  readonly #bounds: BodyBounds;
  readonly #log: Logger;
  readonly #memory: Record<BodyTerms['kind'], FairPermits>;
  readonly #files: PermitQueue;
  readonly #pace: BodyPace;

  constructor(bounds: BodyBounds, log: Logger) {
    this.#bounds = bounds;
    this.#log = log;
    this.#memory = {
      account: new FairPermits(bounds.memoryBytes * (1 - hookPart), accountRatio),
      hook: new FairPermits(bounds.memoryBytes * hookPart, hookRatio),
    };
    this.#files = new PermitQueue(new FairPermits(bounds.files, fileRatio), fileWaiting, fileWaitMs, 'uploads');
    this.#pace = new BodyPace(bounds);
  }

  /**
   * Takes a whole body, and sets its length in the request's headers. Throws 408, 413, 429 or 503, and ClientGone.
   */
  take(request: IncomingMessage, response: ServerResponse, terms: BodyTerms): Body | Promise<Body> {
    if (response.closed) throw new ClientGone();
    // Not a chunked one, which may be many small pieces.
    const isHere = request.complete && request.headers['transfer-encoding'] === undefined;
    return isHere ? this.#takeAtOnce(request, response, terms) : this.#takeSlowly(request, response, terms);
  }

  /** Takes a body that arrived with the head and is in the request's own buffer, the common case. */
  #takeAtOnce(request: IncomingMessage, response: ServerResponse, terms: BodyTerms): Body {
    const kept = this.#inMemory(terms);
    response.on('close', kept.letGo);
    for (let chunk: Buffer | null = request.read(); chunk !== null; chunk = request.read()) kept.add(chunk);
    if (terms.continues) response.writeContinue();
    return kept;
  }

  async #takeSlowly(request: IncomingMessage, response: ServerResponse, terms: BodyTerms): Promise<Body> {
    const isLarge = terms.limit > mebibyte && !(Number(request.headers['content-length']) <= mebibyte);
    const kept = isLarge ? await this.#inFile(response, terms) : this.#inMemory(terms);
    response.once('close', kept.letGo);
    try {
      if (response.closed) throw new ClientGone();
      await this.#receive(request, response, terms, kept);
      return kept;
    } catch (error) {
      kept.letGo();
      throw error;
    }
  }

  /** Reads and drops the rest of a refused request's body, within bounds; then cuts the connection. */
  drain(request: IncomingMessage): void {
    if (request.complete || request.destroyed) return;
    let unread = 0;
    const { socket } = request;
    const cut = () => void socket.destroy();
    const unwatch = this.#pace.watch(request, () => unread, cut, refusedBodyMs);
    // Node closes no request whose response has ended when its connection does.
    const end = () => {
      unwatch();
      socket.off('close', end);
    };
    request.once('close', end);
    socket.once('close', end);
    request.on('data', (chunk: Buffer) => {
      unread += chunk.length;
      if (unread > maxUnread) cut();
    });
    request.resume();
  }

  stop(): void {
    this.#pace.stop();
  }

  #inMemory(terms: BodyTerms): Body & { add(chunk: Buffer): void } {
    let chunks: Buffer[] = [];
    const { hold, letGo } = this.#lease(terms);
    return {
      add: (chunk) => {
        hold(Math.max(chunk.length, chunkBytes));
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
      letGo: () => {
        letGo();
        chunks = [];
      },
    };
  }

  async #inFile(response: ServerResponse, terms: BodyTerms): Promise<Kept> {
    if (!this.#files.tryTake(terms.owner)) await this.#files.wait(terms.owner, 'The file upload', response);
    const file = await createBodyFile(this.#bounds.directory).catch((error: unknown) => {
      this.#files.giveBack(terms.owner);
      throw this.#noFile(error);
    });
    let isOpen = true;
    return {
      add: (chunk) => file.add(chunk).catch((error: unknown) => Promise.reject(this.#noFile(error))),
      // A pipe does not forward errors, and an unhandled one ends the process.
      stream: () =>
        file.stream().once('error', (error) => {
          this.#log.error({ err: error }, "an upload's file could not be read");
          response.destroy();
        }),
      letGo: () => {
        if (!isOpen) return;
        isOpen = false;
        file
          .close()
          .catch((error: unknown) => this.#log.warn({ err: error }, "an upload's file could not be closed"))
          .finally(() => this.#files.giveBack(terms.owner));
      },
    };
  }

  /** Reads the body to its end, piece by piece. */
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
        // There may be thousands more in what was read already.
        request.off('data', take);
        reject(error);
      }
    };
    const late = () => reject(tooSlow(this.#bounds));
    // Hooks come from servers, which have no reason to take longer than one window.
    const wholeWithinMs = terms.kind === 'hook' ? this.#bounds.windowMs : undefined;
    const unwatch = this.#pace.watch(request, () => received, late, wholeWithinMs);
    const gone = () => reject(new ClientGone());
    // It may come before the last piece is written.
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
    // It is forwarded unchunked.
    delete request.headers['transfer-encoding'];
    request.headers['content-length'] = String(received);
  }

  /** Returns functions that hold memory for a body, and let go of all that is held. */
  #lease({ kind, owner }: BodyTerms) {
    const memory = this.#memory[kind];
    let held = 0;
    const hold = (bytes: number) => {
      if (!memory.tryTake(owner, bytes)) {
        limitReached('body_memory');
        throw busy(memory.holds(owner), 'The memory for request bodies');
      }
      held += bytes;
    };
    const letGo = () => {
      if (held === 0) return;
      memory.giveBack(owner, held);
      held = 0;
    };
    return { hold, letGo };
  }

  #noFile(error: unknown): ApiError {
    this.#log.error({ err: error, directory: this.#bounds.directory }, 'an upload could not be kept in a file');
    return serviceUnavailable('Files cannot be uploaded right now; try again shortly', error);
  }
}

function tooSlow({ windowMs, bytesPerSecond }: Pace): ApiError {
  limitReached('body_pace');
  const message = `body must arrive at ${bytesPerSecond} bytes per second or faster, measured every ${windowMs / 1_000} s`;
  return new ApiError('invalid_request', message, { status: 408, field: 'body', headers: { Connection: 'close' } });
}
