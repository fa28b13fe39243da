import type { ServerResponse } from 'node:http';
import { ApiError } from '@customer-platform/contracts/core';
import { internalError, type Logger, sendRefusal } from '@customer-platform/service-kit';

/** Sends a refusal's envelope; for any other error 500, logged once with its cause, which is not sent. */
export function refuse(response: ServerResponse, error: unknown, log: Logger): void {
  if (error instanceof ApiError) {
    sendRefusal(response, error);
    return;
  }
  log.error({ err: error, request_id: response.getHeader('request-id') }, 'request failed');
  sendRefusal(response, internalError());
}
