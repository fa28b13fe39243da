import { z } from 'zod';

/** HTTP status of each error code. Errors with the statuses 405, 408, 413 and 431 have the code `invalid_request` too. */
export const errorStatus = {
  invalid_request: 400,
  key_required: 401,
  invalid_key: 401,
  account_suspended: 403,
  plan_excludes_api: 403,
  address_not_allowed: 403,
  scope_missing: 403,
  not_found: 404,
  module_off: 404,
  slot_taken: 409,
  invalid_state: 409,
  rate_limited: 429,
  internal_error: 500,
  service_unavailable: 503,
} as const;

export type ErrorCode = keyof typeof errorStatus;

/** Meaning of each code and what the caller can do, for the reference. */
export const errorMeaning: Record<ErrorCode, string> = {
  invalid_request:
    'A value, parameter or header is wrong. `field` names it, and `message` says what would be right. Also returned if an Idempotency-Key was used with another body.',
  key_required: 'The request has no API key: send `Authorization: Bearer cp_live_…`.',
  invalid_key: 'The key is mistyped, revoked or expired.',
  account_suspended: 'The operator has suspended the account.',
  plan_excludes_api: "The account's plan does not include the API.",
  address_not_allowed: "The request's IP address is not in the key's `allowed_addresses`.",
  scope_missing: 'The key lacks the scope that the operation needs.',
  not_found: 'No operation exists at the path, or the account has no such resource.',
  module_off: "The operation's module is switched off, or not in the account's plan.",
  slot_taken: 'The time cannot be booked; the message says why. Choose another free time.',
  invalid_state:
    'The state of the resource does not allow this. With Retry-After: the first request with the same Idempotency-Key is still running.',
  rate_limited: 'Too many requests, or too many invalid keys from this address: retry after Retry-After seconds.',
  internal_error: 'The platform failed. Quote the Request-Id when you report it.',
  service_unavailable: 'A part of the platform is down or too slow: retry after Retry-After seconds.',
};

/** Codes that handlers may use; each operation declares which. */
export type DomainErrorCode = 'not_found' | 'slot_taken' | 'invalid_state' | 'scope_missing';

const codes = Object.keys(errorStatus) as [ErrorCode, ...ErrorCode[]];

/** The body of every error. `field` is the top-level name of the wrong body field, query parameter or header. */
export const ErrorEnvelope = z
  .object({
    error: z
      .object({
        code: z.enum(codes).meta({ description: 'Kind of error. Programs decide by it.' }),
        message: z.string().meta({ description: 'What is wrong and what would be right, for people.' }),
        field: z.string().optional().meta({ description: 'The wrong field, parameter or header, if any.' }),
      })
      .meta({ id: 'ErrorDetails', description: 'What went wrong.' }),
  })
  // Not `Error`: classes and variables that generators name after the schema would shadow existing ones.
  .meta({ id: 'ErrorEnvelope', description: 'The body of every error.' });

export type ErrorEnvelope = z.infer<typeof ErrorEnvelope>;

/** An error for the caller. Any code may throw it; the HTTP server sends it as the envelope. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly field: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ErrorCode,
    message: string,
    options: { field?: string | undefined; status?: number; headers?: Record<string, string>; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = 'ApiError';
    this.code = code;
    this.status = options.status ?? errorStatus[code];
    this.field = options.field;
    this.headers = options.headers ?? {};
  }

  /** Returns the envelope, the body of the response. */
  toBody(): ErrorEnvelope {
    const { code, message, field } = this;
    return { error: field === undefined ? { code, message } : { code, message, field } };
  }
}
