import type { ResponseInfo } from '../call.ts';
import { PlatformError, ResponseError } from '../errors.ts';
import type { ErrorCode } from '../generated/types.ts';
import { retryAfterOf } from './delays.ts';

/** Returns the error that the response to a request is: one of this API's, or a ResponseError for any other, such as a proxy's page. */
export function failureOf(request: string, response: Response, text: string): PlatformError | ResponseError {
  const { status, headers } = response;
  const { error } = (jsonOf(text) ?? {}) as { error?: { code?: unknown; message?: unknown; field?: string } };
  if (typeof error?.code !== 'string' || typeof error.message !== 'string') {
    return new ResponseError(`${request}: the response with status ${status} is not one of the API`, status, text);
  }
  const { code, message, field } = error;
  const context = { requestId: infoOf(response).requestId, retryAfter: retryAfterOf(headers) };
  return new PlatformError(status, { code: code as ErrorCode, message, field }, context);
}

/** Returns what callers learn of a response beside its body. */
export function infoOf({ status, headers }: Response): ResponseInfo {
  const requestId = headers.get('request-id') ?? undefined;
  return { status, headers, requestId, isReplayed: headers.get('idempotent-replayed') === 'true' };
}

/** Returns a text's JSON value; undefined if it is none. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
