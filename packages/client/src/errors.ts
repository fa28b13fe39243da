import type { ErrorCode } from './generated/types.ts';

/** Every error that a call rejects with, except an aborted signal's reason. Narrow it by its `code`. */
export type RequestError = PlatformError | ConnectionError | TimeoutError | ResponseError;

/** An error response of the API. */
export class PlatformError<Code extends ErrorCode = ErrorCode> extends Error {
  override readonly name = 'PlatformError';
  /** The HTTP status. */
  readonly status: number;
  readonly code: Code;
  /** The invalid body field, query parameter or header. */
  readonly field: string | undefined;
  /** Id of the request in the platform's logs. Quote it when you report an internal_error. */
  readonly requestId: string | undefined;
  /** Seconds to wait before the next attempt, from the Retry-After header. */
  readonly retryAfter: number | undefined;

  constructor(
    status: number,
    error: { code: Code; message: string; field?: string | undefined },
    context: { requestId?: string | undefined; retryAfter?: number | undefined } = {},
  ) {
    super(error.message);
    this.status = status;
    this.code = error.code;
    this.field = error.field;
    this.requestId = context.requestId;
    this.retryAfter = context.retryAfter;
  }
}

/** The connection failed, or broke before the response was complete. A write may have been applied: send it again with the same key. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  readonly code = 'connection_failed';
}

/** The response was not complete within `timeoutMs`. A write may have been applied: send it again with the same key. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
  readonly code = 'timed_out';
}

/** A response that does not come from the API, such as a proxy's error page. */
export class ResponseError extends Error {
  override readonly name = 'ResponseError';
  readonly code = 'unexpected_response';
  /** The HTTP status. */
  readonly status: number;
  /** The first 500 characters of the body. */
  readonly body: string;

  constructor(message: string, status: number, body = '') {
    super(message);
    this.status = status;
    this.body = body.slice(0, 500);
  }
}

/** A wait that failed: `wait_ended` if the resource can never reach the status, `wait_timed_out` at the deadline. */
export class WaitError<Resource = unknown> extends Error {
  override readonly name = 'WaitError';
  readonly code: 'wait_ended' | 'wait_timed_out';
  /** The resource's last known state; undefined if no request succeeded. */
  readonly last: Resource | undefined;

  constructor(code: WaitError['code'], message: string, last: Resource | undefined) {
    super(message);
    this.code = code;
    this.last = last;
  }
}

/** Returns whether an error is an error response of the API. If codes are given, the error must have one of them. */
export function isPlatformError<Code extends ErrorCode = ErrorCode>(
  error: unknown,
  ...codes: Code[]
): error is PlatformError<Code> {
  return error instanceof PlatformError && (codes.length === 0 || (codes as ErrorCode[]).includes(error.code));
}

/** Returns whether an error comes from an API call. Narrow it by its `code`. */
export function isRequestError(error: unknown): error is RequestError {
  const classes = [PlatformError, ConnectionError, TimeoutError, ResponseError];
  return classes.some((each) => error instanceof each);
}
