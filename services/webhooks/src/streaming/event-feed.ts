import { type Bus, type Database, type Logger, WakeLoop } from '@customer-platform/service-kit';
import { oldestShown, type Retention } from '../retention/retention.ts';
import { EventNews } from './event-news.ts';
import { PositionQueue } from './position-queue.ts';
import { lastSequences, type Position, type ReadPage, readPages } from './streaming.sql.ts';
import type { StreamedEvent, StreamSource } from './streams.ts';

/** Poll interval for events whose notification was lost. */
const pollMs = 1_000;
const slowestRetryMs = 2_000;

/** A stream with its position and whether more events may follow. */
interface Cursor extends Position {
  /** There may be unread events. */
  isDue: boolean;
  /** Resolves the pending `next` with a page; undefined while the reader has not asked for one. */
  take: ((events: readonly StreamedEvent[]) => void) | undefined;
  /** The cursor is in the queue or being read. It is queued at most once, at its position. */
  isQueued: boolean;
  isClosed: boolean;
}

interface FeedParts {
  sql: Database;
  bus: Bus;
  log: Logger;
  /** The real time, which retention uses. */
  clock: () => Date;
  retention: Retention;
}

/**
 * Feeds the open streams of this process. Each stream reads after the last number it received, so it misses no event
 * and repeats none. A notification only says when to read. Streams at one position share a read, accounts take turns,
 * and one statement reads several positions.
 */
export class EventFeed {
  readonly #parts: FeedParts;
  readonly #byAccount = new Map<string, Set<Cursor>>();
  readonly #queue = new PositionQueue<Cursor>();
  readonly #news: EventNews;
  readonly #loop: WakeLoop;
  #polledMs = 0;

  constructor(parts: FeedParts) {
    this.#parts = parts;
    this.#news = new EventNews(parts.bus, {
      hasStreams: () => this.#byAccount.size > 0,
      recorded: (accountIds) => this.#wake(accountIds),
      missed: () => this.#wake(this.#byAccount.keys()),
    });
    const pace = { everyMs: pollMs, slowestRetryMs, log: parts.log };
    this.#loop = new WakeLoop('event streams', pace, () => this.#round());
  }

  /** Announces that events of these accounts were committed. */
  recorded(accountIds: ReadonlySet<string>): void {
    this.#wake(accountIds);
    this.#news.publish(accountIds);
  }

  /** Returns an endless source of the events after a position. */
  open(position: Position): StreamSource {
    const cursor: Cursor = { ...position, isDue: true, take: undefined, isQueued: false, isClosed: false };
    const cursors = this.#byAccount.get(cursor.accountId) ?? new Set();
    const isFirst = this.#byAccount.size === 0;
    this.#byAccount.set(cursor.accountId, cursors.add(cursor));
    if (isFirst) this.#news.ask();
    return {
      next: () =>
        new Promise((resolve) => {
          if (cursor.isClosed) return resolve([]);
          cursor.take = resolve;
          if (cursor.isDue) this.#enqueue(cursor);
        }),
      close: () => {
        cursor.isClosed = true;
        this.#queue.remove(cursor);
        cursors.delete(cursor);
        if (cursors.size === 0 && this.#byAccount.get(cursor.accountId) === cursors) {
          this.#byAccount.delete(cursor.accountId);
        }
        give(cursor, []);
      },
    };
  }

  async stop(): Promise<void> {
    this.#news.stop();
    await this.#loop.stop();
  }

  #wake(accountIds: Iterable<string>): void {
    for (const accountId of accountIds) {
      for (const cursor of this.#byAccount.get(accountId) ?? []) {
        if (cursor.isDue) continue;
        cursor.isDue = true;
        if (cursor.take) this.#enqueue(cursor);
      }
    }
  }

  /** A cursor that is being read is queued again once its page arrives and its position is known. */
  #enqueue(cursor: Cursor): void {
    if (cursor.isQueued) return;
    cursor.isQueued = true;
    this.#queue.add(cursor);
    this.#loop.wake();
  }

  /** Reads the next positions in turn. Returns whether others wait. */
  async #round(): Promise<boolean> {
    if (performance.now() - this.#polledMs >= pollMs) await this.#poll();
    const groups = this.#queue.take();
    if (groups.length === 0) return false;
    // Later commits wake these cursors again.
    for (const cursor of groups.flat()) cursor.isDue = false;
    const { sql, clock, retention } = this.#parts;
    const positions = groups.map(([cursor]) => cursor!);
    const pages = await readPages(sql, positions, oldestShown(clock(), retention)).catch((error: unknown) => {
      for (const cursor of groups.flat()) this.#readAgain(cursor);
      throw error;
    });
    for (const [index, group] of groups.entries()) this.#handOut(pages[index]!, group);
    return !this.#queue.isEmpty;
  }

  #handOut({ rows, hasMore }: ReadPage, cursors: readonly Cursor[]): void {
    const after = rows.at(-1)?.sequence;
    const events = rows.flatMap(({ sequence, type, envelope }) =>
      envelope === null ? [] : [{ id: String(sequence), event: type, data: envelope }],
    );
    for (const cursor of cursors) {
      cursor.isQueued = false;
      if (after !== undefined) cursor.after = after;
      if (hasMore) cursor.isDue = true;
      if (events.length > 0) give(cursor, events);
      else if (cursor.isDue && !cursor.isClosed) this.#enqueue(cursor);
    }
  }

  #readAgain(cursor: Cursor): void {
    cursor.isDue = true;
    cursor.isQueued = false;
    if (!cursor.isClosed) this.#enqueue(cursor);
  }

  /** Checks all accounts in one statement for events whose notification was lost. */
  async #poll(): Promise<void> {
    this.#polledMs = performance.now();
    if (this.#byAccount.size === 0) return;
    const last = await lastSequences(this.#parts.sql, [...this.#byAccount.keys()]);
    for (const [accountId, cursors] of this.#byAccount) {
      const behind = [...cursors].some(({ after, isDue }) => !isDue && after < (last.get(accountId) ?? 0));
      if (behind) this.#wake([accountId]);
    }
  }
}

/** Passes a page to a stream that waits for one. */
function give(cursor: Cursor, events: readonly StreamedEvent[]): void {
  const { take } = cursor;
  cursor.take = undefined;
  take?.(events);
}
