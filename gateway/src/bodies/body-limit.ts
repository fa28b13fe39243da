import type { IncomingMessage } from 'node:http';
import { ApiError } from '@customer-platform/contracts/core';
import { limitReached } from '@customer-platform/service-kit';

const mebibyte = 1_048_576;
/**
 * Bytes of a refused body that are still read, so that its sender gets to read the response; then the connection is
 * cut.
 */
export const maxUnread = 32 * mebibyte;

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
