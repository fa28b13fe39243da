import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '@customer-platform/contracts/core';

const mebibyte = 1_048_576;
/**
 * So much of a body that was refused is still read, so that its sender gets to read the answer; then the connection is
 * cut.
 */
const maxUnread = 32 * mebibyte;

/** The largest body in bytes, where an operation says no other. */
export const defaultBodyLimit = mebibyte;

const limits = new WeakMap<IncomingMessage, number>();

/**
 * Throws 413 for a body whose stated length is over `limit` bytes, and 400 for a coding other than chunked. A chunked
 * body is remembered, to be counted on its way by `cutBody`.
 */
export function limitBody(request: IncomingMessage, response: ServerResponse, limit: number): void {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
  if (coding !== undefined) {
    if (coding.toLowerCase() !== 'chunked') {
      throw new ApiError('invalid_request', 'body must be sent with no Transfer-Encoding other than chunked', {
        field: 'body',
      });
    }
    limits.set(request, limit);
  } else if (length !== undefined && Number(length) > limit) {
    drain(request, response, 0);
    throw tooLarge(limit);
  }
}

/**
 * Counts a chunked body while it streams to the service and cuts it at its limit: the client gets 413, the service a
 * broken request.
 */
export function cutBody(outgoing: ClientRequest, request: IncomingMessage, response: ServerResponse): void {
  const limit = limits.get(request);
  if (limit === undefined) return;
  let received = 0;
  const count = (chunk: Buffer) => {
    received += chunk.length;
    if (received <= limit) return;
    request.off('data', count);
    request.unpipe(outgoing);
    outgoing.destroy(tooLarge(limit));
    drain(request, response, received);
  };
  request.on('data', count);
}

function drain(request: IncomingMessage, response: ServerResponse, alreadyRead: number): void {
  let unread = alreadyRead;
  request.on('data', (chunk: Buffer) => {
    unread += chunk.length;
    if (unread > maxUnread) response.destroy();
  });
}

function tooLarge(limit: number): ApiError {
  const message = `body must be at most ${limit / mebibyte} MiB`;
  return new ApiError('invalid_request', message, { status: 413, field: 'body' });
}
