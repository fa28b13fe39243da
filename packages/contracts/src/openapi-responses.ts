import type { ZodOpenApiResponseObject } from 'zod-openapi';
import { type ErrorCode, ErrorEnvelope, errorStatus } from './core/errors.ts';
import type { Method, Operation } from './core/operation.ts';

/** Returns whether an Idempotency-Key has an effect: a GET changes nothing, and a repeated PUT leads to the same state. */
export function takesKey(method: Method): boolean {
  return method !== 'GET' && method !== 'PUT';
}

const sentHeaders = {
  'Request-Id': 'Id of this request in our logs and traces.',
  RateLimit: 'Requests left for the key, and the seconds until its full burst is available again.',
  'RateLimit-Policy': 'Burst of the key, and the seconds in which it refills.',
  'Idempotent-Replayed': 'true if this is the stored response to an earlier request with the same Idempotency-Key.',
  'Retry-After': 'Seconds to wait before trying again.',
  'WWW-Authenticate': 'Always Bearer.',
  'Error-Code': 'The `code` of the error, also where a response has no body.',
};

/** The headers of responses, by name: the document's `components/headers`. */
export const headers = Object.fromEntries(
  Object.entries(sentHeaders).map(([name, description]) => [
    name,
    { description, schema: { type: 'string' as const } },
  ]),
);

/** Returns the headers of a response with this status, by reference. */
export function headersOf(status: number, method: Method): Record<string, { $ref: string }> {
  const names: (keyof typeof sentHeaders)[] = ['Request-Id'];
  if (status !== 401) names.push('RateLimit', 'RateLimit-Policy');
  if (status === 401) names.push('WWW-Authenticate');
  if (status >= 400) names.push('Error-Code');
  if ([429, 503].includes(status) || (status === 409 && takesKey(method))) names.push('Retry-After');
  if (takesKey(method) && (status < 300 || isReplayable(status, method))) names.push('Idempotent-Replayed');
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** Returns whether a refusal is stored under an Idempotency-Key and sent again for it. */
function isReplayable(status: number, method: Method): boolean {
  return takesKey(method) && [400, 404, 409].includes(status);
}

/** Returns every refusal of an operation by its status: those of the key and the account, its own, and those of its inputs. */
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
  codes.push('invalid_request'); // an unknown query parameter, at least
  // A second request under an Idempotency-Key whose first is still running.
  if (takesKey(method)) codes.push('invalid_state');
  const byStatus = Map.groupBy([...new Set(codes)], (code) => errorStatus[code]);
  const refusals = [...byStatus].map(([status, group]) => [status, refusal(status, group, method)]);
  return Object.fromEntries(body ? [...refusals, [413, refusal(413, [], method)]] : refusals);
}

const known = new Map<string, ZodOpenApiResponseObject>();

/** Returns the one object of a refusal, which the document has in `components/responses` under its id. */
function refusal(status: number, codes: readonly ErrorCode[], method: Method): ZodOpenApiResponseObject {
  const id = `${refusalName(status, codes)}${isReplayable(status, method) ? 'Replayable' : ''}`;
  const description = status === 413 ? 'invalid_request: the body is too large' : codes.join(', ');
  const made = known.get(id) ?? {
    id,
    description,
    headers: headersOf(status, method),
    content: { 'application/json': { schema: ErrorEnvelope, examples: examplesOf(status, codes) } },
  };
  // Two refusals under one id would both be described as the first.
  if (made.description !== description) throw new Error(`${id} is ${made.description} and ${description}`);
  known.set(id, made);
  return made;
}

/** Messages of refusals, with the field at fault if there is one. */
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
  internal_error: ['Something failed here; quote the Request-Id when you report it'],
  service_unavailable: ['The module does not respond at present; try again in 5 s'],
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
