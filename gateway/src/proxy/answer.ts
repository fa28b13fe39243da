import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '@customer-platform/contracts/core';
import { internalError, type Logger, methodRefusal, sendAllow, sendRefusal } from '@customer-platform/service-kit';

/**
 * Whether a path that can only be read is to be answered: true for GET and HEAD. Answers OPTIONS itself; throws 405
 * for any other method.
 */
export function isReading(request: IncomingMessage, response: ServerResponse): boolean {
  if (request.method === 'GET' || request.method === 'HEAD') return true;
  const allow = 'GET, HEAD, OPTIONS';
  if (request.method !== 'OPTIONS') throw methodRefusal(request.method!, allow);
  sendAllow(response, allow);
  return false;
}

/** The path of a request's URL, without its query. */
export function pathOf(request: IncomingMessage): string {
  return request.url!.split('?', 1)[0]!;
}

/** Sends a refusal's envelope; anything else is our fault: 500, logged once with its cause, which is not sent. */
export function refuse(response: ServerResponse, error: unknown, log: Logger): void {
  if (error instanceof ApiError) {
    sendRefusal(response, error);
    return;
  }
  log.error({ err: error, request_id: response.getHeader('request-id') }, 'a request failed');
  sendRefusal(response, internalError());
}
