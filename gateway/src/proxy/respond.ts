import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '@customer-platform/contracts/core';
import { internalError, type Logger, methodRefusal, sendAllow, sendRefusal } from '@customer-platform/service-kit';

/** Returns true for GET and HEAD of a read-only path. Responds to OPTIONS itself; throws 405 for any other method. */
export function isReading(request: IncomingMessage, response: ServerResponse): boolean {
  if (request.method === 'GET' || request.method === 'HEAD') return true;
  const allow = 'GET, HEAD, OPTIONS';
  if (request.method !== 'OPTIONS') throw methodRefusal(request.method!, allow);
  sendAllow(response, allow);
  return false;
}

/** Returns the path of a request's URL, without its query. */
export function pathOf(request: IncomingMessage): string {
  return request.url!.split('?', 1)[0]!;
}

/** Sends a refusal's envelope; for any other error 500, logged once with its cause, which is not sent. */
export function refuse(response: ServerResponse, error: unknown, log: Logger): void {
  if (error instanceof ApiError) {
    sendRefusal(response, error);
    return;
  }
  log.error({ err: error, request_id: response.getHeader('request-id') }, 'request failed');
  sendRefusal(response, internalError());
}
