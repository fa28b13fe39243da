import type { ServerResponse } from 'node:http';
import {
  busy,
  FairPermits,
  type Logger,
  limitReached,
  meter,
  retrySoon,
  withTimeout,
} from '@customer-platform/service-kit';

/** One event of a stream. `id` and `event` contain no line breaks. */
export interface StreamedEvent {
  id: string;
  event: string;
  data: string;
}

export interface StreamSource {
  /**
   * Waits for the next events; may resolve to none. Call it again only once the reader has drained the previous page,
   * so that events wait outside of memory. A rejection ends the stream.
   */
  next(): Promise<readonly StreamedEvent[]>;
  /** Resolves a pending `next`. */
  close(): void;
}

/** Maximum number of open streams per process. */
const maxStreams = 4_000;
const commentEveryMs = 15_000;

const open = meter.createUpDownCounter('streams.open', { description: 'Open streams of events.' });
const attributes = { operation: 'streamEvents' };

/** The open Server-Sent Events streams of a process. */
export class Streams {
  readonly #log: Logger;
  readonly #stallMs: number;
  readonly #permits = new FairPermits(maxStreams);
  readonly #open = new Map<ServerResponse, StreamSource>();
  #isClosed = false;

  /** @param stallMs maximum time for a reader to drain a page */
  constructor(log: Logger, stallMs = 10_000) {
    this.#log = log;
    this.#stallMs = stallMs;
  }

  get count(): number {
    return this.#open.size;
  }

  /**
   * Sends the events of a source, and a comment every 15 s. Ends when the reader disconnects or does not drain a page within 10 s. Responds to HEAD
   * with headers only. Counts against `owner`'s share of the streams. Returns once the stream has begun; throws 429 or 503 if no stream is free.
   */
  begin(response: ServerResponse, openSource: () => StreamSource, owner: string): void {
    if (response.closed) return;
    if (response.req.method === 'HEAD') {
      sendHead(response);
      response.end();
      return;
    }
    if (!this.#permits.tryTake(owner)) {
      limitReached('streams');
      throw busy(this.#permits.holds(owner), 'the stream of events');
    }
    const source = openSource();
    this.#open.set(response, source);
    open.add(1, attributes);
    const comments = setInterval(() => isOver(response) || response.write(commentText), commentEveryMs);
    response.once('close', () => {
      clearInterval(comments);
      this.#open.delete(response);
      open.add(-1, attributes);
      this.#permits.release(owner);
      source.close();
    });
    sendHead(response);
    if (this.#isClosed) end(response, source);
    else void this.#send(response, source);
  }

  /** Ends all streams. Their readers reconnect. */
  close(): void {
    this.#isClosed = true;
    for (const [response, source] of this.#open) end(response, source);
  }

  async #send(response: ServerResponse, source: StreamSource): Promise<void> {
    try {
      while (!isOver(response)) {
        const events = await source.next();
        if (isOver(response)) return;
        if (events.length > 0) response.write(events.map(eventText).join(''));
        if (!response.writableNeedDrain || (await isDrained(response, this.#stallMs))) continue;
        // The reader resumes after its last event.
        limitReached('stream_backlog');
        response.destroy();
      }
    } catch (error) {
      if (isOver(response)) return;
      this.#log.warn({ err: error }, 'an event stream ended with an error; its reader will reconnect');
      end(response, source);
    }
  }
}

function sendHead(response: ServerResponse): void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' });
  response.flushHeaders();
}

/** Formats an event for Server-Sent Events. Line breaks in the data are preserved. */
export function eventText({ id, event, data }: StreamedEvent): string {
  return `id: ${id}\nevent: ${event}\ndata: ${data.replaceAll(/\r\n|\r|\n/g, '\ndata: ')}\n\n`;
}

/** A comment, which readers ignore. It keeps the connection alive. */
const commentText = ': alive\n\n';

function isOver(response: ServerResponse): boolean {
  return response.closed || response.writableEnded;
}

function end(response: ServerResponse, source: StreamSource): void {
  if (!isOver(response)) response.end(retrySoon());
  source.close();
}

/** Waits until the reader has drained the buffer or disconnected. Returns false after `limitMs`. */
async function isDrained(response: ServerResponse, limitMs: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<true>();
  const done = () => resolve(true);
  response.once('drain', done).once('close', done);
  const isTaken = await withTimeout(limitMs, promise).catch(() => false);
  response.off('drain', done).off('close', done);
  return isTaken;
}
