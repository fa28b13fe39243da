import { ResponseError, TimeoutError } from '../errors.ts';
import { connectionError } from '../requests/attempt.ts';
import { longestTimerMs } from '../requests/delays.ts';
import { failureOf } from '../requests/responses.ts';
import { createSseParser, type SseMessage } from './sse-parser.ts';

/** An open stream of messages. */
export interface Connection {
  /** Returns the next messages; undefined when the platform has ended the stream. Throws a RequestError or an aborted signal's reason. */
  read(): Promise<SseMessage[] | undefined>;
  /** Milliseconds to wait before reconnecting, as the platform asked; undefined if it did not ask. */
  retryMs(): number | undefined;
  close(): Promise<void>;
}

/** Limits of one connection. */
export interface ConnectionLimits {
  fetch: typeof fetch;
  /** Milliseconds without a byte after which the connection counts as broken. */
  idleTimeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** Largest message in UTF-16 units: an event is at most 900 KiB. */
const maxMessageLength = 2 * 1024 * 1024;

/** Opens a stream of Server-Sent Events. Throws a RequestError or an aborted signal's reason. */
export async function connect(
  url: string,
  headers: Headers,
  { fetch, idleTimeoutMs, signal }: ConnectionLimits,
): Promise<Connection> {
  const ended = new AbortController();
  const onAbort = () => ended.abort(signal!.reason);
  if (signal?.aborted) onAbort();
  signal?.addEventListener('abort', onAbort, { once: true });

  /** Awaits the next data with the idle timeout. The timer runs only during a read, so a slow consumer does not cause a timeout. */
  async function next<Value>(given: () => Promise<Value>): Promise<Value> {
    const late = new TimeoutError(`GET ${url} has sent nothing for ${idleTimeoutMs} ms`);
    const timer = setTimeout(() => ended.abort(late), Math.min(idleTimeoutMs, longestTimerMs));
    try {
      return await given();
    } catch (cause) {
      if (ended.signal.aborted) throw ended.signal.reason;
      throw connectionError(`GET ${url}`, cause);
    } finally {
      clearTimeout(timer);
    }
  }

  const close = async () => {
    signal?.removeEventListener('abort', onAbort);
    ended.abort();
  };
  try {
    const init = { headers, redirect: 'manual', signal: ended.signal } as const;
    const response = await next(() => fetch(url, init));
    if (response.status !== 200) throw failureOf(`GET ${url}`, response, await next(() => response.text()));
    if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
      throw new ResponseError('The response is not an event stream: its content type must be text/event-stream', 200);
    }
    return { ...messagesOf(response.body!.getReader(), next), close };
  } catch (error) {
    await close();
    throw error;
  }
}

function messagesOf(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  next: <Value>(given: () => Promise<Value>) => Promise<Value>,
): Pick<Connection, 'read' | 'retryMs'> {
  const decoder = new TextDecoder();
  const parser = createSseParser(maxMessageLength);
  return {
    retryMs: () => parser.retryMs,
    async read() {
      const { value, done } = await next(() => reader.read());
      if (done) return undefined;
      try {
        return parser.push(decoder.decode(value, { stream: true }));
      } catch (error) {
        throw new ResponseError((error as Error).message, 200);
      }
    },
  };
}
