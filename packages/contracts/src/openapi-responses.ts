import type { ZodOpenApiResponseObject } from 'zod-openapi';
import { type ErrorCode, ErrorEnvelope, errorStatus } from './core/errors.ts';
import type { Method, Operation } from './core/operation.ts';

/** Returns whether an Idempotency-Key has an effect. A GET changes nothing, and a PUT is idempotent by itself. */
export function takesKey(method: Method): boolean {
  return method !== 'GET' && method !== 'PUT';
}

const sentHeaders = {
  'Request-Id': "Id of the request in the platform's logs and traces.",
  RateLimit: "Requests left in the key's bucket (`r`), and seconds until the bucket is full again (`t`).",
  'RateLimit-Policy': "Size of the key's bucket (`q`), and seconds in which an empty bucket refills (`w`).",
  'Idempotent-Replayed': '`true` if this is the stored response to an earlier request with the same Idempotency-Key.',
  'Retry-After': 'Seconds to wait before you retry.',
  'WWW-Authenticate': 'Always `Bearer`.',
  'Error-Code': 'The `code` of the error, also if the response has no body.',
};

/** Response headers by name, for the document's `components/headers`. */
export const headers = Object.fromEntries(
  Object.entries(sentHeaders).map(([name, description]) => [
    name,
    { description, schema: { type: 'string' as const } },
  ]),
);

/** Returns references to the headers of a response with this status. */
export function headersOf(status: number, method: Method): Record<string, { $ref: string }> {
  const names: (keyof typeof sentHeaders)[] = ['Request-Id'];
  if (status !== 401) names.push('RateLimit', 'RateLimit-Policy');
  if (status === 401) names.push('WWW-Authenticate');
  if (status >= 400) names.push('Error-Code');
  if ([429, 503].includes(status) || (status === 409 && takesKey(method))) names.push('Retry-After');
  if (takesKey(method) && (status < 300 || isReplayable(status, method))) names.push('Idempotent-Replayed');
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** Returns whether an error response is stored under its Idempotency-Key and replayed. */
function isReplayable(status: number, method: Method): boolean {
  return takesKey(method) && [400, 404, 409].includes(status);
}

/** Returns an operation's error responses by status: errors of the key and account, its own, and errors of its inputs. */
export function refusalsOf({ method, scope, gate, body, errors }: Operation): Record<string, ZodOpenApiResponseObject> {
  const codes: ErrorCode[] = [
    'key_required',
    'invalid_key',
    'account_suspended',
    'plan_excludes_api',
    'address_not_allowed',
  ];
  codes.push(...errors, 'rate_limited', 'internal_error', 'service_unavailable');
  if (scope) codes.push('scope_missing');
  if (gate) codes.push('module_off');
  codes.push('invalid_request'); // for example, an unknown query parameter
  // The first request with the same Idempotency-Key is still running.
  if (takesKey(method)) codes.push('invalid_state');
  const byStatus = Map.groupBy([...new Set(codes)], (code) => errorStatus[code]);
  const refusals = [...byStatus].map(([status, group]) => [status, refusal(status, group, method)]);
  return Object.fromEntries(body ? [...refusals, [413, refusal(413, [], method)]] : refusals);
}

const known = new Map<string, ZodOpenApiResponseObject>();

/** Returns the one error response with this status and these codes; its id is its name in `components/responses`. */
function refusal(status: number, codes: readonly ErrorCode[], method: Method): ZodOpenApiResponseObject {
  const id = `${refusalName(status, codes)}${isReplayable(status, method) ? 'Replayable' : ''}`;
  const description = status === 413 ? 'invalid_request: the body is too large' : codes.join(', ');
  const made = known.get(id) ?? {
    id,
    description,
    headers: headersOf(status, method),
    content: { 'application/json': { schema: ErrorEnvelope, examples: examplesOf(status, codes) } },
  };
  // Of two different responses with one id, the document would have only the first.
  if (made.description !== description) throw new Error(`${id} is ${made.description} and ${description}`);
  known.set(id, made);
  return made;
}

/** Example message of each error, with the wrong field if there is one. */
const messages: Record<ErrorCode, readonly [message: string, field?: string]> = {
  invalid_request: ['limit must be at most 100', 'limit'],
  key_required: ['Send an API key: Authorization: Bearer cp_live_… (see /docs)'],
  invalid_key: ['This API key is invalid: mistyped, revoked or expired'],
  account_suspended: ['This account is suspended'],
  plan_excludes_api: ["This account's plan does not include the API; change the plan"],
  address_not_allowed: ["This key may not be used from 203.0.113.7; add it to the key's allowed_addresses"],
  scope_missing: ['This key lacks the scope of the operation'],
  not_found: ['There is no such resource in this account'],
  module_off: ['The module of the operation is switched off for this account'],
  slot_taken: ['The time is no longer free; see the free times of the booking type'],
  invalid_state: ['The state of the resource does not allow this'],
  rate_limited: ['Too many requests with this key; try again in 3 s'],
  internal_error: ['The platform failed; quote the Request-Id when you report it'],
  service_unavailable: ['The module does not respond; try again in 5 s'],
};

function examplesOf(status: number, codes: readonly ErrorCode[]): Record<string, { value: ErrorEnvelope }> {
  if (status === 413)
    return {
      invalid_request: { value: { error: { code: 'invalid_request', message: 'The body is larger than 1 MiB' } } },
    };
  return Object.fromEntries(
    codes.map((code) => {
      const [message, field] = messages[code];
      return [code, { value: { error: { code, message, ...(field === undefined ? {} : { field }) } } }];
    }),
  );
}

function refusalName(status: number, codes: readonly ErrorCode[]): string {
  if (status === 401) return 'Unauthorized';
  if (status === 403) return codes.includes('scope_missing') ? 'Forbidden' : 'ForbiddenWithoutScope';
  if (status === 413) return 'BodyTooLarge';
  const words = codes.join('_or_').split('_');
  return words.map((word) => `${word[0]!.toUpperCase()}${word.slice(1)}`).join('');
}
