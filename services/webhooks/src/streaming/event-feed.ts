import { type Bus, type Database, type Logger, WakeLoop } from '@customer-platform/service-kit';
import { oldestShown, type Retention } from '../retention/retention.ts';
import { EventNews } from './event-news.ts';
import { PositionQueue } from './position-queue.ts';
import { lastSequences, type Position, type ReadPage, readPages } from './streaming.sql.ts';
import type { StreamedEvent, StreamSource } from './streams.ts';

/** Poll interval for events whose news was lost. */
const pollMs = 1_000;
const slowestRetryMs = 2_000;

/** A stream: what it has had, and whether there may be more. */
interface Cursor extends Position {
  /** There may be events that it has not had. */
  isDue: boolean;
  /** Takes the next page; undefined while the reader has not taken the last one. */
  take: ((events: readonly StreamedEvent[]) => void) | undefined;
  /** It waits in the queue, or is being read for: it is in one place of the queue at most, that of its position. */
  isQueued: boolean;
  isClosed: boolean;
}

/** Dependencies of the feed. */
interface FeedParts {
  sql: Database;
  bus: Bus;
  log: Logger;
  /** The real time, by which events are kept. */
  clock: () => Date;
  retention: Retention;
}

/**
 * The events of accounts whose streams are open in this process. A stream reads what follows the last number that it had, so that nothing is
 * missed or comes twice; news of a commit only says when to read. Streams at the same position share a read, accounts take turns, and one
 * statement reads from some positions at a time.
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
      hear: (accountIds) => this.#wake(accountIds),
      missed: () => this.#wake(this.#byAccount.keys()),
    });
    const pace = { everyMs: pollMs, slowestRetryMs, log: parts.log };
    this.#loop = new WakeLoop('event streams', pace, () => this.#round());
  }

  /** Says that events of these accounts were recorded and committed. */
  recorded(accountIds: ReadonlySet<string>): void {
    this.#wake(accountIds);
    this.#news.tell(accountIds);
  }

  /** Returns the events after a position, without an end. */
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

  /** One that is being read for comes into the queue when it has its page: what it follows on is known then. */
  #enqueue(cursor: Cursor): void {
    if (cursor.isQueued) return;
    cursor.isQueued = true;
    this.#queue.add(cursor);
    this.#loop.wake();
  }

  /** Reads from the positions whose turn it is; returns whether others wait. */
  async #round(): Promise<boolean> {
    if (performance.now() - this.#polledMs >= pollMs) await this.#poll();
    const groups = this.#queue.take();
    if (groups.length === 0) return false;
    // What commits from here on wakes them again.
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

  /** Looks, in one statement for all accounts, whether there are events whose news did not come. */
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

/** Gives a stream its next page, where it waits for one. */
function give(cursor: Cursor, events: readonly StreamedEvent[]): void {
  const { take } = cursor;
  cursor.take = undefined;
  take?.(events);
}
