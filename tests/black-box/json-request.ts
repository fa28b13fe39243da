import { setTimeout as sleep } from 'node:timers/promises';

/** Response with its body, parsed if it is JSON. */
export interface JsonResponse<Body> {
  status: number;
  headers: Headers;
  text: string;
  body: Body;
}

/** Sends JSON or a form to one URL with one bearer token. Never retries. */
export type Send = <Body = unknown>(
  method: string,
  path: string,
  options?: { body?: object; headers?: Record<string, string>; token?: string },
) => Promise<JsonResponse<Body>>;

/** Returns a `Send` for a URL. Requests time out after 15 s. */
export function sender(url: string, token: string): Send {
  return async <Body>(method: string, path: string, options: Parameters<Send>[2] = {}) => {
    const isForm = options.body instanceof FormData;
    const body = isForm ? (options.body as FormData) : options.body && JSON.stringify(options.body);
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${options.token ?? token}`,
        ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
        ...options.headers,
      },
      ...(body === undefined ? {} : { body }),
      signal: AbortSignal.timeout(15_000),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: (isJson ? JSON.parse(text) : null) as Body,
    };
  };
}

/**
 * Polls until `isRight` holds, every 100 ms for timeoutMs.
 * @throws Error that shows the last response
 */
export async function askUntil<Value>(
  ask: () => Promise<Value>,
  isRight: (value: Value) => boolean,
  describe: (value: Value) => string,
  timeoutMs: number,
): Promise<Value> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const value = await ask();
    if (isRight(value)) return value;
    if (performance.now() > deadline) throw new Error(`after ${timeoutMs / 1_000} s still ${describe(value)}`);
    await sleep(100);
  }
}
