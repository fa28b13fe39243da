import { createHash } from 'node:crypto';
import { ApiError, type Operation } from '@customer-platform/contracts/core';
import express, { type Request, type RequestHandler, type Response } from 'express';
import { busy, FairPermits, PermitQueue } from '../../fairness/fair-permits.ts';
import { limitReached } from '../../telemetry/limits.ts';
import { inputParser, parseJsonObject } from '../input.ts';
import { type ReceivedForm, readForm } from './form-body.ts';

/** Largest body in bytes, where the operation says no other; a larger one needs a permit. */
const defaultLimit = 1_048_576;
/** Large bodies in memory at once, two of one owner; and those that wait for one of them to end, each for 15 s at most. */
const [mostLarge, mostWaiting, waitMs] = [4, 100, 15_000];
/** Ends of the permits of large bodies, by their requests. */
const releases = new WeakMap<object, () => void>();

interface RequestWithBody {
  headers: { 'content-type'?: string | undefined };
  body?: unknown;
}

/** Minimum pace of a form: it is given up below so many bytes in so much time, and its permit is another's. */
export interface Pace {
  bytes: number;
  everyMs: number;
}
const slowestPace: Pace = { bytes: 65_536, everyMs: 5_000 };

/**
 * Reads the body of an operation's requests, up to its limit. `ownerOf` says which customer a request is of, live or sandbox, or throws
 * ApiError. `releaseBody` must follow after the response.
 */
export function bodyReader(
  operation: Operation,
  ownerOf: (request: Request) => string,
  pace = slowestPace,
): RequestHandler {
  const limit = operation.bodyLimit ?? defaultLimit;
  if (operation.bodyType !== 'multipart') {
    const read = express.raw({ type: () => true, limit, inflate: false });
    return (request, response, next) => {
      try {
        holdMemory(request, response, { limit, ownerOf });
      } catch (error) {
        next(error);
        return;
      }
      read(request, response, next);
    };
  }
  const permits = new PermitQueue(new FairPermits(mostLarge), mostWaiting, waitMs, 'large_bodies');
  /** Buffers that are used again: of 20 MiB each they would be much garbage. */
  const spare: Buffer[] = [];
  return (request, response, next) => {
    const { 'content-type': type, 'content-encoding': coding = 'identity', 'content-length': stated } = request.headers;
    let buffer: Buffer | undefined;
    const acquire = async () => {
      const owner = ownerOf(request);
      if (!permits.tryTake(owner)) await permits.wait(owner, 'the reading of files', response);
      releases.set(request, () => {
        if (buffer) spare.push(buffer);
        permits.giveBack(owner);
      });
    };
    const space = {
      smallBytes: Math.min(Number(stated ?? defaultLimit), defaultLimit),
      // More than a small file's bytes come only with a permit.
      large: () => {
        buffer = spare.pop() ?? Buffer.allocUnsafeSlow(limit);
        return buffer;
      },
    };
    readForm(bounded(request, limit, pace, acquire), coding === 'identity' ? type : undefined, space).then(
      (form) => {
        request.body = form;
        next();
      },
      (error: unknown) => {
        releaseBody(request);
        // Its rest is not read: who sends it would wait with it.
        if (!request.complete) response.shouldKeepAlive = false;
        next(request.readableAborted ? notWhole(error) : error);
      },
    );
  };
}

/** Bytes that bodies take at once, as they came and parsed; an owner's alone may have half of them. Smaller ones do not count. */
const bodyMemory = new FairPermits(134_217_728);
const leastHeldBytes = 65_536;

/** Has a body count among those in memory until its response is sent. Throws 429 rate_limited where its owner's leave no room, 503 where others' do. */
function holdMemory(
  request: Request,
  response: Response,
  { limit, ownerOf }: { limit: number; ownerOf: (request: Request) => string },
): void {
  const { 'content-length': stated, 'transfer-encoding': coding } = request.headers;
  const bytes = Math.min(Number(stated ?? (coding === undefined ? 0 : limit)), limit);
  if (bytes < leastHeldBytes) return;
  const owner = ownerOf(request);
  if (bodyMemory.tryTakeUntilClosed(owner, 2 * bytes, response)) return;
  limitReached('body_memory');
  throw busy(bodyMemory.holds(owner), 'the service');
}

/** Says that nobody reads a request's body any more. */
export function releaseBody(request: Request): void {
  releases.get(request)?.();
  releases.delete(request);
}

/** The bytes that come, at most `limit` of them: those of a large body after `acquire`. Throws 413 for more, 408 for less than `pace`. */
async function* bounded(
  request: Request,
  limit: number,
  pace: Pace,
  acquire: () => Promise<void>,
): AsyncGenerator<Buffer> {
  let received = 0;
  let isLarge = false;
  // The response says what is wrong: the connection must outlive that.
  const chunks = request.iterator({ destroyOnReturn: false })[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const watch = new PaceWatch(pace);
  try {
    for (;;) {
      const next = await watch.inTime(chunks.next());
      if (next.done) return;
      watch.received(next.value.length);
      received += next.value.length;
      if (received > limit) throw tooLarge(limit);
      if (received > defaultLimit && !isLarge) {
        isLarge = true;
        watch.stop();
        await acquire();
        watch.start();
      }
      yield next.value;
    }
  } finally {
    watch.stop();
  }
}

/** Looks whether bytes come as fast as they must, from when it is made; not while it is stopped. */
class PaceWatch {
  readonly #pace: Pace;
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Refuses what is waited for; nothing may be at the moment. */
  #refuse: ((error: Error) => void) | undefined;
  #error: Error | undefined;

  constructor(pace: Pace) {
    this.#pace = pace;
    this.start();
  }

  start(): void {
    this.#bytes = 0;
    this.#timer = setInterval(() => {
      if (this.#bytes < this.#pace.bytes) {
        this.#error ??= tooSlow(this.#pace);
        this.#refuse?.(this.#error);
      }
      this.#bytes = 0;
    }, this.#pace.everyMs);
  }

  /** Waits for bytes; throws 408 where they do not come in time. By a promise of their own: one for all would keep all bytes until its end. */
  async inTime<Result>(bytes: Promise<Result>): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    if (this.#error) reject(this.#error);
    this.#refuse = reject;
    bytes.then(resolve, reject);
    return await promise;
  }

  received(bytes: number): void {
    this.#bytes += bytes;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

function tooSlow({ bytes, everyMs }: Pace): ApiError {
  limitReached('body_pace');
  const message = `body must arrive faster: at least ${bytes} bytes in ${everyMs / 1_000} s`;
  return new ApiError('invalid_request', message, { status: 408, field: 'body', headers: { Connection: 'close' } });
}

function tooLarge(limit: number): ApiError {
  limitReached('body_size');
  return new ApiError('invalid_request', `body must be at most ${limit} bytes`, { status: 413, field: 'body' });
}

function notWhole(cause: unknown): ApiError {
  return new ApiError('invalid_request', 'body must be complete', { field: 'body', cause });
}

/** Returns the fingerprint that tells a body from another one under the same Idempotency-Key. */
export function bodyFingerprint({ body }: RequestWithBody): Buffer {
  return isForm(body) ? body.fingerprint : createHash('sha256').update(bytesOf(body)).digest();
}

function bytesOf(body: unknown): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.alloc(0);
}

function isForm(body: unknown): body is ReceivedForm {
  return typeof body === 'object' && body !== null && 'parts' in body;
}

/** A parser of the bodies of one operation, as its contract says they come. Throws invalid_request with the field at fault. */
export function bodyParser({ body: schema, bodyType }: Operation) {
  if (!schema) return (): Record<string, unknown> => ({});
  const parse = inputParser(schema, bodyType === 'multipart' ? 'text' : 'json');
  return ({ body, headers }: RequestWithBody): Record<string, unknown> => {
    if (!isForm(body)) return parse(parseJsonObject(bytesOf(body), headers['content-type']));
    if (body.error) throw body.error;
    return parse(body.parts);
  };
}
