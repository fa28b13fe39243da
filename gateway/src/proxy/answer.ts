import type { ServerResponse } from 'node:http';
import { ApiError } from '@customer-platform/contracts/core';
import type { Logger } from '@customer-platform/service-kit';

/** Answers JSON that is text already. */
export function sendJson(response: ServerResponse, status: number, json: string): void {
  response.statusCode = status;
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.setHeader('Content-Length', Buffer.byteLength(json));
  response.end(json);
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
    'Something went wrong on our side; the request id names this failure in our logs',
  );
}
