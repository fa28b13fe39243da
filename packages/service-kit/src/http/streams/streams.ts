import type { ServerResponse } from 'node:http';
import { busy, FairPermits } from '../../fairness/fair-permits.ts';
import { limitReached } from '../../telemetry/limits.ts';
import type { Logger } from '../../telemetry/logging.ts';
import { meter } from '../../telemetry/meter.ts';
import { TimedOut, withTimeout } from '../../values/with-timeout.ts';
import type { Listener } from '../listener.ts';

/** One event of a stream. `id` and `event` are without line ends. */
export interface StreamedEvent {
  id: string;
  event: string;
  data: string;
}

/** A part of a stream. */
export interface StreamPage {
  events: readonly StreamedEvent[];
  /** More is there already: it is asked for once the reader has taken this, so that long histories wait outside of memory. */
  hasMore: boolean;
}

/** The events of one stream, as a streaming operation returns them. */
export interface StreamSource {
  /** Waits for what follows, which may be nothing; called again only after it has resolved. A rejection ends the stream. */
  next(): Promise<StreamPage>;
  /** Ends a `next` that waits. */
  close(): void;
}

/** Maximum number of streams of a process. */
const maxStreams = 4_000;
/** Bytes that a reader may be behind before it is cut off. */
const maxUnsentBytes = 1_048_576;
/** The same of all readers of a process, who share it fairly by account. */
const maxUnsentOfAll = 67_108_864;
/** Time in which a reader has to take a page of what it is behind. */
const stallMs = 10_000;
const commentEveryMs = 15_000;
const sweepEveryMs = 500;
/** Time after which readers of a stream that was ended connect again, spread so that they do not come at once. */
const retryMs = { shortest: 500, longest: 3_000 };

const open = meter.createUpDownCounter('streams.open', { description: 'Open streams of events.' }, 'operation');

interface OpenStream {
  response: ServerResponse;
  source: StreamSource;
  owner: string;
  commentAtMs: number;
  /** Permits for what its reader has not taken, in bytes. */
  unsentBytes: number;
}

/** The streams of Server-Sent Events that a process has open. */
export class Streams implements Pick<Listener, 'drain' | 'close'> {
  readonly #log: Logger;
  readonly #permits = new FairPermits(maxStreams);
  readonly #unsent: FairPermits;
  readonly #open = new Set<OpenStream>();
  #sweep: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** @param unsentOfAll bytes that all readers together may be behind */
  constructor(log: Logger, unsentOfAll = maxUnsentOfAll) {
    this.#log = log;
    this.#unsent = new FairPermits(unsentOfAll);
  }

  /** Number of streams that are open. */
  get count(): number {
    return this.#open.size;
  }

  /**
   * Sends the events of a source, and a comment every 15 s, until the reader leaves, is more than 1 MiB behind, takes nothing for 10 s, or
   * its owner's readers are too far behind together; `owner` counts for the fair use of the process. Returns once the stream has begun. Throws 429 or 503 where there are too many.
   */
  begin(
    response: ServerResponse,
    source: StreamSource,
    { owner, operation }: { owner: string; operation: string },
  ): void {
    if (response.closed) {
      source.close();
      return;
    }
    if (!this.#permits.tryTake(owner)) {
      source.close();
      limitReached('streams');
      throw busy(this.#permits.holds(owner), 'the stream of events');
    }
    const stream = { response, source, owner, commentAtMs: performance.now() + commentEveryMs, unsentBytes: 0 };
    this.#open.add(stream);
    open.add(1, operation);
    response.once('close', () => {
      this.#open.delete(stream);
      open.add(-1, operation);
      this.#permits.giveBack(owner);
      this.#unsent.giveBack(owner, stream.unsentBytes);
      source.close();
      if (this.#open.size === 0) clearInterval(this.#sweep);
    });
    response.on('drain', () => this.#isWithin(stream));
    if (this.#open.size === 1) this.#sweep = setInterval(() => this.#comment(), sweepEveryMs);
    beginEventStream(response);
    if (this.#isClosed) end(stream);
    else void this.#send(stream);
  }

  /** Streams go on while the process serves on. */
  drain(): void {
    // Nothing to do.
  }

  /** Ends all streams, whose readers connect again. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const stream of this.#open) end(stream);
  }

  async #send(stream: OpenStream): Promise<void> {
    const { response, source } = stream;
    try {
      while (!isOver(response)) {
        const { events, hasMore } = await source.next();
        if (isOver(response)) return;
        if (events.length > 0) response.write(events.map(eventText).join(''));
        if (!this.#isWithin(stream)) return cutOff(response);
        if (hasMore && response.writableNeedDrain && !(await isDrained(response))) return cutOff(response);
      }
    } catch (error) {
      if (isOver(response)) return;
      this.#log.warn({ err: error }, 'a stream of events was ended; its reader connects again');
      end(stream);
    }
  }

  #comment(): void {
    const nowMs = performance.now();
    for (const stream of this.#open) {
      const { response } = stream;
      if (nowMs < stream.commentAtMs || isOver(response)) continue;
      stream.commentAtMs += commentEveryMs;
      response.write(commentText);
      if (!this.#isWithin(stream)) cutOff(response);
    }
  }

  /** Counts what a reader has not taken; returns whether that is within its own bound and its owner's part of that of all. */
  #isWithin(stream: OpenStream): boolean {
    const unsentBytes = stream.response.writableLength;
    const more = unsentBytes - stream.unsentBytes;
    if (unsentBytes > maxUnsentBytes || (more > 0 && !this.#unsent.tryTake(stream.owner, more))) return false;
    if (more < 0) this.#unsent.giveBack(stream.owner, -more);
    stream.unsentBytes = unsentBytes;
    return true;
  }
}

/** Sends the head of a stream of events. */
export function beginEventStream(response: ServerResponse): void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' });
  response.flushHeaders();
}

/** Returns the line that has the reader of a stream that ends connect again, some time later at random. */
export function retrySoon(): string {
  return retryText(Math.round(retryMs.shortest + Math.random() * (retryMs.longest - retryMs.shortest)));
}

/** Returns an event as Server-Sent Events have it; a line end in the data stays one for the reader. */
export function eventText({ id, event, data }: StreamedEvent): string {
  return `id: ${id}\nevent: ${event}\ndata: ${data.replaceAll(/\r\n|\r|\n/g, '\ndata: ')}\n\n`;
}

/** A comment, which readers ignore: it says that the stream is alive. */
const commentText = ': alive\n\n';

/** Returns the line that has a reader wait for `ms` before it connects again. */
function retryText(ms: number): string {
  return `retry: ${ms}\n\n`;
}

function isOver(response: ServerResponse): boolean {
  return response.closed || response.writableEnded;
}

function end({ response, source }: OpenStream): void {
  if (!isOver(response)) response.end(retrySoon());
  source.close();
}

/** Cuts the connection of a reader that is too slow: what waits for it in memory is let go, and it resumes after what it has. */
function cutOff(response: ServerResponse): void {
  limitReached('stream_backlog');
  response.destroy();
}

/** Waits until a reader has taken what was sent, or has left; returns false where it takes too long. */
async function isDrained(response: ServerResponse): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = () => resolve();
  response.once('drain', done).once('close', done);
  try {
    await withTimeout(stallMs, promise);
    return true;
  } catch (error) {
    if (error instanceof TimedOut) return false;
    throw error;
  } finally {
    response.off('drain', done).off('close', done);
  }
}
