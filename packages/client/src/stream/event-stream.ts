import type { Page } from '../call.ts';
import { ConnectionError, isRequestError, PlatformError, ResponseError, TimeoutError } from '../errors.ts';
import type { Event, EventFilter } from '../generated/types.ts';
import { backoffMs, wait } from '../requests/delays.ts';
import { jsonOf } from '../requests/responses.ts';
import { addressOf, type ClientOptions, send } from '../requests/send.ts';
import { type Connection, connect } from './connection.ts';
import type { SseMessage } from './sse-parser.ts';

/** Options of an event stream. */
export interface StreamOptions {
  /** Kinds such as `order.declined`, families such as `order.*`, or `*`; default: all. */
  types?: readonly EventFilter[] | undefined;
  /** Start after the event with this `sequence`, at most 30 days back. Default: start with the next event. */
  afterSequence?: number | undefined;
  /** Aborts the stream. Its iteration rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Milliseconds without a byte after which the connection counts as broken. Default: 45,000, since the platform sends a comment every 15 s. */
  idleTimeoutMs?: number | undefined;
  /** Called when a connection has opened. */
  onOpen?: (() => void) | undefined;
  /** Called when a connection has ended, before the stream reconnects. */
  onReconnect?: ((reconnect: Reconnect) => void) | undefined;
}

/** A reconnect that is about to happen. */
export interface Reconnect {
  /** Why the last connection ended; undefined if the platform closed it. */
  error: Error | undefined;
  /** Milliseconds until the next attempt. */
  afterMs: number;
}

/** An event with its `sequence`. An account's events are numbered from 1 without gaps. */
export type StreamedEvent = Event & { sequence: number };

/** Events as they happen. The stream connects on the first read and disconnects when the loop ends. */
export type EventStream = AsyncGenerator<StreamedEvent, void, undefined>;

/** An event whose envelope is still JSON text. */
export interface EventRecord {
  sequence: number;
  text: string;
}

const path = '/v1/events/stream';
const longestBackoffMs = 30_000;
/** Longest wait before a reconnect in milliseconds, even if the platform asks for more. */
const longestWaitMs = 3_600_000;

/** Iterates over events as they happen; see `Client.events.stream`. */
export async function* streamEvents(client: ClientOptions, options: StreamOptions): EventStream {
  for await (const { sequence, text } of streamRecords(client, options)) {
    const event = jsonOf(text) as Event | null | undefined;
    if (typeof event?.type !== 'string') throw new ResponseError('An entry of the stream is not an event', 200, text);
    yield { ...event, sequence } as StreamedEvent;
  }
}

/** Iterates over the same events as JSON text. */
export async function* streamRecords(
  client: ClientOptions,
  options: StreamOptions,
): AsyncGenerator<EventRecord, void, undefined> {
  // Without a start sequence, a connection that breaks before its first event would resume with a gap.
  let last = options.afterSequence ?? (await newestSequence(client, options.signal));
  let connection: Connection | undefined;
  for (let failures = 1; ; failures++) {
    let error: Error | undefined;
    try {
      connection = await open(client, options, last);
      options.onOpen?.();
      for (let messages = await connection.read(); messages; messages = await connection.read()) {
        failures = 0;
        for (const record of recordsOf(messages)) {
          if (record.sequence <= last) continue;
          last = record.sequence;
          if (record.text !== '') yield record;
        }
      }
    } catch (thrown) {
      if (!isTemporary(thrown)) throw thrown;
      error = thrown;
    } finally {
      await connection?.close();
    }
    const retryAfterMs = error instanceof PlatformError ? (error.retryAfter ?? 0) * 1000 : (connection?.retryMs() ?? 0);
    connection = undefined;
    const afterMs = Math.min(retryAfterMs + backoffMs(Math.max(failures, 1), longestBackoffMs), longestWaitMs);
    options.onReconnect?.({ error, afterMs });
    await wait(afterMs, options.signal);
  }
}

async function open(client: ClientOptions, options: StreamOptions, last: number): Promise<Connection> {
  const headers = new Headers({ authorization: `Bearer ${client.apiKey}`, accept: 'text/event-stream' });
  headers.set('last-event-id', String(last));
  const { signal, idleTimeoutMs = 45_000 } = options;
  const url = addressOf(client.baseUrl, path, { types: options.types?.join(',') });
  return await connect(url, headers, { fetch: client.fetch ?? fetch, idleTimeoutMs, signal });
}

/** Returns the sequence of the account's latest event, 0 if it has none. */
export async function newestSequence(client: ClientOptions, signal: AbortSignal | undefined): Promise<number> {
  const line = { operation: 'listEvents', method: 'GET', path: '/v1/events' };
  const { data } = await send(client, line, { query: { limit: 1 }, signal });
  return (data as Page<{ sequence: number }>).data[0]?.sequence ?? 0;
}

/** Returns messages with their ids as sequences. Throws ResponseError if an id is not a sequence. */
function* recordsOf(messages: SseMessage[]): Generator<EventRecord> {
  for (const { id, data } of messages) {
    if (id === undefined || !/^\d{1,15}$/.test(id))
      throw new ResponseError(`An event of the stream must have a sequence as its id, not ${id}`, 200, data);
    yield { sequence: Number(id), text: data };
  }
}

/** Returns whether to reconnect after an error. Refusals and responses that are not an event stream are final. */
function isTemporary(error: unknown): error is Error {
  if (error instanceof ConnectionError || error instanceof TimeoutError) return true;
  if (!isRequestError(error)) return false;
  return (
    (error as PlatformError | ResponseError).status === 429 || (error as PlatformError | ResponseError).status >= 500
  );
}
