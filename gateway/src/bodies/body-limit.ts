import type { IncomingMessage } from 'node:http';
import { ApiError } from '@customer-platform/contracts/core';
import { limitReached } from '@customer-platform/service-kit';

const mebibyte = 1_048_576;
/**
 * Bytes of a refused body that are still read, so that its sender gets to read the response; then the connection is
 * cut.
 */
export const maxUnread = 32 * mebibyte;

/**
 * Chunks of a body that may be of any size, and the bytes that more of them should have on average. They need to have fewer: one that two reads
 * brought counts twice.
 */
const smallChunks = { free: 4_096, bytes: 64, fewestBytes: 48 };
/** Chunks of any size of a body that is refused already. */
export const refusedChunks = 512;

/** Default size limit of a body, in bytes. */
export const defaultBodyLimit = mebibyte;

/** Throws 413 for a body whose stated length is over `limit` bytes, and 400 for a coding other than chunked. */
export function limitBody(request: IncomingMessage, limit: number): void {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
  if (coding === undefined) {
    if (Number(length) > limit) throw tooLarge(limit);
  } else if (coding.toLowerCase() !== 'chunked') {
    const message = 'body must be sent with no Transfer-Encoding other than chunked';
    throw new ApiError('invalid_request', message, { field: 'body' });
  }
}

/** Returns the refusal of a body over `limit` bytes. */
export function tooLarge(limit: number): ApiError {
  limitReached('body_size');
  const message = `body must be at most ${limit / mebibyte} MiB`;
  return new ApiError('invalid_request', message, { status: 413, field: 'body' });
}

/**
 * Returns whether a body comes in too many small chunks: each costs the event loop a microsecond or two, however few bytes it has, and one read
 * of a connection has room for ten thousand of them.
 */
export function isCrumbled(chunks: number, bytes: number, free = smallChunks.free): boolean {
  return chunks > free && bytes < chunks * smallChunks.fewestBytes;
}

/** Returns the refusal of such a body. */
export function tooCrumbled(): ApiError {
  limitReached('body_chunks');
  const { free, bytes } = smallChunks;
  const message = `body must be sent in chunks of ${bytes} bytes or more on average where it has over ${free} of them`;
  return new ApiError('invalid_request', message, { field: 'body', headers: { Connection: 'close' } });
}
