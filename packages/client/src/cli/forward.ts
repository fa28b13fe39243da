import { connectionError } from '../requests/attempt.ts';
import type { EventRecord } from '../stream/event-stream.ts';
import { signWebhook } from '../webhooks/signature.ts';
import { shortened } from './text.ts';

/** A server's response to an event. Without a response, `status` is null and `error` says why. */
export interface Forwarded {
  status: number | null;
  /** Beginning of the response's body. */
  body: string;
  error: string | null;
  durationMs: number;
}

/** Milliseconds until the response must be complete; the same as for the platform's deliveries. */
const timeoutMs = 15_000;
/** Read at most about this many bytes of a response. */
const maxBodyBytes = 64 * 1024;
/** Show at most this many characters of a response. */
const shownLength = 200;

/** Posts an event to a server once, as the platform posts it to an endpoint. Throws an aborted signal's reason. */
export async function forward(
  url: string,
  { id, sequence, text }: EventRecord & { id: string },
  secret: string,
  signal: AbortSignal,
): Promise<Forwarded> {
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'customer-platform-listen',
    ...(await signWebhook(text, secret, { id })),
    'webhook-sequence': String(sequence),
  };
  const began = performance.now();
  const passed = () => Math.round(performance.now() - began);
  const late = AbortSignal.timeout(timeoutMs);
  try {
    const init = {
      method: 'POST',
      headers,
      body: text,
      redirect: 'manual',
      signal: AbortSignal.any([signal, late]),
    } as const;
    const response = await fetch(url, init);
    const body = await beginningOf(response);
    return { status: response.status, body, error: null, durationMs: passed() };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const reason = late.aborted
      ? `no response within ${timeoutMs / 1000} s`
      : connectionError(`POST ${url}`, error).message;
    return { status: null, body: '', error: reason, durationMs: passed() };
  }
}

async function beginningOf(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let [text, bytes] = ['', 0];
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    bytes += (chunk as Uint8Array).length;
    if (bytes > maxBodyBytes) break;
  }
  return shortened(text.trim(), shownLength);
}
