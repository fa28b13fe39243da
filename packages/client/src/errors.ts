import type { ErrorCode } from './generated/types.ts';

/** Each error that a call rejects with, told apart by its `code`; besides, the reason of an aborted signal. */
export type RequestError = PlatformError | ConnectionError | TimeoutError | ResponseError;

/** An error response of the API. */
export class PlatformError<Code extends ErrorCode = ErrorCode> extends Error {
  override readonly name = 'PlatformError';
  /** The HTTP status. */
  readonly status: number;
  readonly code: Code;
  /** The body field, query parameter or header at fault. */
  readonly field: string | undefined;
  /** Id of the request in the platform's logs: quote it when you report an internal_error. */
  readonly requestId: string | undefined;
  /** Seconds after which another attempt makes sense, where the platform says so. */
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

/** No connection, or one that broke before the whole response had come. A write may have happened: send it again with the same key. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  readonly code = 'connection_failed';
}

/** No whole response within `timeoutMs`. A write may have happened: send it again with the same key. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
  readonly code = 'timed_out';
}

/** A response that is none of this API's, such as a proxy's page. */
export class ResponseError extends Error {
  override readonly name = 'ResponseError';
  readonly code = 'unexpected_response';
  /** The HTTP status. */
  readonly status: number;
  /** Beginning of the body, at most 500 characters. */
  readonly body: string;

  constructor(message: string, status: number, body = '') {
    super(message);
    this.status = status;
    this.body = body.slice(0, 500);
  }
}

/** A wait that did not end as wanted: `wait_ended` if it never can, `wait_timed_out` at its deadline. */
export class WaitError<Resource = unknown> extends Error {
  override readonly name = 'WaitError';
  readonly code: 'wait_ended' | 'wait_timed_out';
  /** The resource as it was last seen; undefined if no request had succeeded by then. */
  readonly last: Resource | undefined;

  constructor(code: WaitError['code'], message: string, last: Resource | undefined) {
    super(message);
    this.code = code;
    this.last = last;
  }
}

/** Returns whether an error is an error response of the API, with one of these codes if any are given. */
export function isPlatformError<Code extends ErrorCode = ErrorCode>(
  error: unknown,
  ...codes: Code[]
): error is PlatformError<Code> {
  return error instanceof PlatformError && (codes.length === 0 || (codes as ErrorCode[]).includes(error.code));
}

/** Returns whether an error is one of a call: narrow it by its `code`. */
export function isRequestError(error: unknown): error is RequestError {
  const classes = [PlatformError, ConnectionError, TimeoutError, ResponseError];
  return classes.some((each) => error instanceof each);
}
