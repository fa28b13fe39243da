import { ConnectionError, TimeoutError } from '../errors.ts';
import { longestTimerMs } from './delays.ts';

/** A request, the same in each of its attempts. */
export interface Prepared {
  url: string;
  method: string;
  headers: Headers;
  body?: string | ArrayBuffer | undefined;
}

/** Limits of one attempt. */
export interface AttemptLimits {
  fetch: typeof fetch;
  /** Milliseconds until the response must be complete. */
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** Sends a request once, and returns the response and its body. Throws ConnectionError, TimeoutError, or an aborted signal's reason. */
export async function attempt(
  { url, method, headers, body }: Prepared,
  { fetch, timeoutMs, signal }: AttemptLimits,
): Promise<{ response: Response; text: string }> {
  const ended = new AbortController();
  const late = new TimeoutError(`${method} ${url} got no complete response within ${timeoutMs} ms`);
  const timer = setTimeout(() => ended.abort(late), Math.min(timeoutMs, longestTimerMs));
  const onAbort = () => ended.abort(signal!.reason);
  if (signal?.aborted) onAbort();
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    // A redirect could send the API key to another server.
    const init: RequestInit = { method, headers, redirect: 'manual', signal: ended.signal };
    const response = await fetch(url, body === undefined ? init : { ...init, body });
    return { response, text: await response.text() };
  } catch (cause) {
    if (ended.signal.aborted) throw ended.signal.reason;
    throw connectionError(`${method} ${url}`, cause);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  }
}

/** Returns the error of a failed fetch. Node's own error is only "fetch failed"; its cause has the reason. */
export function connectionError(request: string, error: unknown): ConnectionError {
  const { message, cause } = error as { message?: string; cause?: { code?: string; message?: string } };
  const isPlain = cause?.code === 'ERR_SSL_WRONG_VERSION_NUMBER';
  const reason = isPlain
    ? 'the server does not respond over https; use http:// if it has no TLS'
    : cause?.message || cause?.code || message || String(error);
  return new ConnectionError(`${request} failed: ${reason}`, { cause: error });
}
