import type { ResponseInfo } from '../call.ts';
import { PlatformError, ResponseError } from '../errors.ts';
import type { ErrorCode } from '../generated/types.ts';
import { retryAfterOf } from './delays.ts';

/** Returns a response's error: a PlatformError, or a ResponseError if the body is not the API's, such as a proxy's error page. */
export function failureOf(request: string, response: Response, text: string): PlatformError | ResponseError {
  const { status, headers } = response;
  const { error } = (jsonOf(text) ?? {}) as { error?: { code?: unknown; message?: unknown; field?: string } };
  if (typeof error?.code !== 'string' || typeof error.message !== 'string') {
    return new ResponseError(`${request}: the response with status ${status} does not come from the API`, status, text);
  }
  const { code, message, field } = error;
  const context = { requestId: infoOf(response).requestId, retryAfter: retryAfterOf(headers) };
  return new PlatformError(status, { code: code as ErrorCode, message, field }, context);
}

/** Returns a response's status, headers and request id. */
export function infoOf({ status, headers }: Response): ResponseInfo {
  const requestId = headers.get('request-id') ?? undefined;
  return { status, headers, requestId, isReplayed: headers.get('idempotent-replayed') === 'true' };
}

/** Returns a string's JSON value; undefined if it is not JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
