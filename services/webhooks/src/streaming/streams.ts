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

/** One event of a stream. `id` and `event` are without line ends. */
export interface StreamedEvent {
  id: string;
  event: string;
  data: string;
}

/** The events of one stream. */
export interface StreamSource {
  /**
   * Waits for what follows, which may be nothing. Called again once it has resolved and the reader has taken that: what follows waits outside of
   * memory. A rejection ends the stream.
   */
  next(): Promise<readonly StreamedEvent[]>;
  /** Ends a `next` that waits. */
  close(): void;
}

/** Maximum number of streams of a process. */
const maxStreams = 4_000;
const commentEveryMs = 15_000;

const open = meter.createUpDownCounter('streams.open', { description: 'Open streams of events.' });
const attributes = { operation: 'streamEvents' };

/** The streams of Server-Sent Events that a process has open. */
export class Streams {
  readonly #log: Logger;
  readonly #stallMs: number;
  readonly #permits = new FairPermits(maxStreams);
  readonly #open = new Map<ServerResponse, StreamSource>();
  #isClosed = false;

  /** @param stallMs time in which a reader has to take a page */
  constructor(log: Logger, stallMs = 10_000) {
    this.#log = log;
    this.#stallMs = stallMs;
  }

  /** Number of streams that are open. */
  get count(): number {
    return this.#open.size;
  }

  /**
   * Sends the events of a source, and a comment every 15 s, until the reader leaves or does not take a page within 10 s; the head alone in response
   * to HEAD. `owner` counts for the fair use of the process. Returns once the stream has begun. Throws 429 or 503 where there are too many.
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
      this.#permits.giveBack(owner);
      source.close();
    });
    sendHead(response);
    if (this.#isClosed) end(response, source);
    else void this.#send(response, source);
  }

  /** Ends all streams, whose readers connect again. */
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
        // It resumes after what it has.
        limitReached('stream_backlog');
        response.destroy();
      }
    } catch (error) {
      if (isOver(response)) return;
      this.#log.warn({ err: error }, 'a stream of events was ended; its reader connects again');
      end(response, source);
    }
  }
}

/** Sends the head of a stream of events. */
function sendHead(response: ServerResponse): void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' });
  response.flushHeaders();
}

/** Returns an event as Server-Sent Events have it; a line end in the data stays one for the reader. */
export function eventText({ id, event, data }: StreamedEvent): string {
  return `id: ${id}\nevent: ${event}\ndata: ${data.replaceAll(/\r\n|\r|\n/g, '\ndata: ')}\n\n`;
}

/** A comment, which readers ignore: it says that the stream is alive. */
const commentText = ': alive\n\n';

function isOver(response: ServerResponse): boolean {
  return response.closed || response.writableEnded;
}

function end(response: ServerResponse, source: StreamSource): void {
  if (!isOver(response)) response.end(retrySoon());
  source.close();
}

/** Waits until a reader has taken what was sent, or has left; returns false where it takes too long. */
async function isDrained(response: ServerResponse, limitMs: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<true>();
  const done = () => resolve(true);
  response.once('drain', done).once('close', done);
  const isTaken = await withTimeout(limitMs, promise).catch(() => false);
  response.off('drain', done).off('close', done);
  return isTaken;
}
