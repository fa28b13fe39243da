import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '@customer-platform/contracts/core';
import type { Logger } from '@customer-platform/service-kit';

/** Answers JSON that is text already. */
export function sendJson(response: ServerResponse, status: number, json: string): void {
  response.statusCode = status;
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.setHeader('Content-Length', Buffer.byteLength(json));
  response.end(json);
}

/** The refusal of a method that a path does not have; `allow` names those that it has. */
export function methodRefusal(method: string, allow: string): ApiError {
  return new ApiError('invalid_request', `${method} is not allowed at this path; use a method listed in Allow`, {
    status: 405,
    headers: { Allow: allow },
  });
}

/**
 * Whether a path that can only be read is to be answered: true for GET and HEAD. Answers OPTIONS itself; throws 405
 * for any other method.
 */
export function isReading(request: IncomingMessage, response: ServerResponse): boolean {
  if (request.method === 'GET' || request.method === 'HEAD') return true;
  const allow = 'GET, HEAD, OPTIONS';
  if (request.method !== 'OPTIONS') throw methodRefusal(request.method!, allow);
  response.writeHead(204, { Allow: allow }).end();
  return false;
}

/** The path of a request's URL, without its query. */
export function pathOf(request: IncomingMessage): string {
  return request.url!.split('?', 1)[0]!;
}

/**
 * Answers a refusal as its envelope; anything else is our fault: 500, logged once with its cause, nothing of it in the
 * answer. Where an answer has begun already the connection is cut, for only so does the client learn that it is not
 * whole.
 */
export function refuse(response: ServerResponse, error: unknown, log: Logger): void {
  const refusal = error instanceof ApiError ? error : ourFault(response, error, log);
  if (response.headersSent) {
    response.destroy();
    return;
  }
  for (const name in refusal.headers) response.setHeader(name, refusal.headers[name]!);
  sendJson(response, refusal.status, JSON.stringify(refusal.toBody()));
}

function ourFault(response: ServerResponse, error: unknown, log: Logger): ApiError {
  log.error({ err: error, request_id: response.getHeader('request-id') }, 'a request failed');
  return new ApiError(
    'internal_error',
    'Something went wrong on our side; the Request-Id identifies this failure in our logs',
  );
}
