import type { Outcome } from '../call.ts';
import { ConnectionError, type RequestError, ResponseError, TimeoutError } from '../errors.ts';
import { attempt, type Prepared } from './attempt.ts';
import { backoffMs, longestWaitMs, retryAfterOf, wait } from './delays.ts';
import { failureOf, infoOf, jsonOf } from './responses.ts';

/** The API's address and key, and how requests are sent. */
export interface ClientOptions {
  /** Address of the API without `/v1`, such as `https://api.example.com`. */
  baseUrl: string;
  /** An API key: `cp_live_…`, or `cp_test_…` for the sandbox. */
  apiKey: string;
  /**
   * Retries after 429, 502, 503, 504, 409 with Retry-After, a broken connection or a timeout. Default: 2. If a response asks to wait for
   * more than a minute, the call fails instead, and the error's `retryAfter` has the seconds. Retries are safe: a write has the same
   * Idempotency-Key in all attempts.
   */
  retries?: number | undefined;
  /** Milliseconds until the response of an attempt must be complete. Default: 30,000. */
  timeoutMs?: number | undefined;
  /** Sends the requests. Default: the global fetch. */
  fetch?: typeof fetch | undefined;
  /** Called with every response, also before a retry. Use it for logs and metrics. */
  onResponse?: ((request: RequestLine, status: number, headers: Headers) => void) | undefined;
}

/** Method and path of a request, with the operation's id if it has one. */
export interface RequestLine {
  /** The operation's id in the reference, such as `bookAppointment`. */
  operation?: string | undefined;
  method: string;
  /** The path with its parameters filled in, without the query. */
  path: string;
}

/** Parts of a request other than method and path. */
export interface RequestParts {
  query?: Record<string, unknown> | undefined;
  body?: unknown;
  isMultipart?: boolean | undefined;
  idempotencyKey?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** Longest backoff between attempts in milliseconds. A Retry-After adds to it. */
const longestBackoffMs = 5_000;
const temporaryStatuses = [429, 502, 503, 504];

/**
 * Sends a request until it succeeds or no retry is left. Returns the response and its parsed JSON body, undefined if the body is empty.
 * Throws a RequestError.
 */
export async function send(options: ClientOptions, line: RequestLine, parts: RequestParts): Promise<Outcome> {
  const { retries = 2 } = options;
  const request = await prepared(options, line, parts);
  for (let number = 1; ; number++) {
    const outcome = await tried(request, options, line, parts.signal);
    if (!('error' in outcome)) return outcome;
    const askedMs = (outcome.retryAfter ?? 0) * 1000;
    if (!outcome.isTemporary || number > retries || askedMs > longestWaitMs) throw outcome.error;
    await wait(askedMs + backoffMs(number, longestBackoffMs), parts.signal);
  }
}

type Failure = { error: RequestError; isTemporary: boolean; retryAfter?: number | undefined };

async function tried(
  request: Prepared,
  { fetch: send = fetch, timeoutMs = 30_000, onResponse }: ClientOptions,
  line: RequestLine,
  signal: AbortSignal | undefined,
): Promise<Outcome | Failure> {
  try {
    const { response, text } = await attempt(request, { fetch: send, timeoutMs, signal });
    const { status, headers } = response;
    onResponse?.(line, status, headers);
    if (response.ok) return { data: dataOf(status, text), response: infoOf(response) };
    const retryAfter = retryAfterOf(headers);
    // 409 with Retry-After: the first attempt with the same key is still running.
    const isTemporary = temporaryStatuses.includes(status) || (status === 409 && retryAfter !== undefined);
    return { error: failureOf(`${request.method} ${request.url}`, response, text), isTemporary, retryAfter };
  } catch (error) {
    if (error instanceof ConnectionError || error instanceof TimeoutError) return { error, isTemporary: true };
    throw error;
  }
}

function dataOf(status: number, text: string): unknown {
  if (text === '') return undefined;
  const data = jsonOf(text);
  if (data === undefined) throw new ResponseError('The response is not JSON', status, text);
  return data;
}

/** Returns the request that all attempts send. The bytes stay the same since an Idempotency-Key belongs to one body. */
async function prepared(options: ClientOptions, { method, path }: RequestLine, parts: RequestParts): Promise<Prepared> {
  const headers = new Headers({ authorization: `Bearer ${options.apiKey}`, accept: 'application/json' });
  // PUT is idempotent without a key.
  const takesKey = method !== 'GET' && method !== 'PUT';
  if (takesKey) headers.set('idempotency-key', parts.idempotencyKey ?? crypto.randomUUID());
  const request = { url: addressOf(options.baseUrl, path, parts.query), method, headers };
  if (parts.body === undefined) return request;
  const { type, body } = parts.isMultipart ? await multipart(parts.body as object) : json(parts.body);
  headers.set('content-type', type);
  return { ...request, body };
}

function json(body: unknown): { type: string; body: string } {
  return { type: 'application/json', body: JSON.stringify(body) };
}

async function multipart(fields: object): Promise<{ type: string; body: ArrayBuffer }> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    if (value instanceof Blob) form.append(name, value);
    else if (value !== undefined) form.append(name, String(value));
  }
  const message = new Response(form);
  return { type: message.headers.get('content-type')!, body: await message.arrayBuffer() };
}

/** Returns a request's URL without the undefined query parameters. The path may already have a query. */
export function addressOf(baseUrl: string, path: string, query: Record<string, unknown> = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const pairs = given.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`);
  const address = `${baseUrl.replace(/\/$/, '')}${path}`;
  return pairs.length > 0 ? `${address}${path.includes('?') ? '&' : '?'}${pairs.join('&')}` : address;
}
