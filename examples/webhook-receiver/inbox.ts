import { DatabaseSync } from 'node:sqlite';

/** An event as the platform sends it. */
export interface Event {
  id: string;
  type: string;
  timestamp: string;
  account: string;
  mode: string;
  data: Record<string, unknown>;
}

/**
 * Handles one event. Writes through `database` commit in the same transaction that marks the event as processed, so they happen once even after a
 * crash. Other effects may happen again after a crash, and need an idempotency key, such as the event's id.
 */
export type Handle = (event: Event, database: DatabaseSync) => void;

/** Received events, in a file that outlives the process. */
export interface Inbox {
  readonly database: DatabaseSync;
  /** Stores an event on disk before it returns. Ignores a known id. */
  add(id: string, body: string): void;
  /** Handles one due event. Returns false if none is due. A failing event gets ten attempts with growing delays; others continue. */
  work(handle: Handle): boolean;
  /** Returns the milliseconds until the next event is due: 0 if one is due now, undefined if none waits. */
  dueInMs(): number | undefined;
  /** Deletes events processed so long ago that the platform cannot send them again. */
  forget(): void;
  close(): void;
}

const maxTries = 10;
const firstPauseMs = 1_000;
/** Longer than the 30 days for which the platform can send an event again. */
const keptMs = 35 * 86_400_000;

/** Opens an inbox. Creates its file if missing. */
export function openInbox(file: string, clock: () => number = Date.now): Inbox {
  const database = new DatabaseSync(file);
  // FULL: a commit is on disk when it returns, and the platform gets 204 only after that.
  database.exec(`
    pragma journal_mode = wal;
    pragma synchronous = full;
    pragma busy_timeout = 5000;
    create table if not exists inbox (
      id text primary key,
      body text not null,
      tries integer not null default 0,
      due_at integer, -- null: processed, or given up
      processed_at integer,
      last_error text
    ) strict;
    create index if not exists inbox_due on inbox (due_at) where due_at is not null;
    create index if not exists inbox_processed on inbox (processed_at) where processed_at is not null;`);
  const insert = database.prepare('insert into inbox (id, body, due_at) values (?, ?, ?) on conflict do nothing');
  const next = database.prepare('select id, body, tries from inbox where due_at <= ? order by due_at, rowid limit 1');
  const done = database.prepare('update inbox set due_at = null, processed_at = ? where id = ?');
  const failed = database.prepare('update inbox set due_at = ?, tries = ?, last_error = ? where id = ?');
  const earliest = database.prepare('select min(due_at) as due_at from inbox where due_at is not null');
  const forgotten = database.prepare('delete from inbox where processed_at < ?');
  return {
    database,
    add: (id, body) => void insert.run(id, body, clock()),
    work(handle) {
      const row = next.get(clock()) as { id: string; body: string; tries: number } | undefined;
      if (!row) return false;
      database.exec('begin immediate');
      try {
        handle(JSON.parse(row.body) as Event, database);
        done.run(clock(), row.id);
        database.exec('commit');
      } catch (error) {
        // A full disk has already ended the transaction.
        if (database.isTransaction) database.exec('rollback');
        const tries = row.tries + 1;
        const dueAt = tries < maxTries ? clock() + firstPauseMs * 2 ** tries : null;
        failed.run(dueAt, tries, String(error), row.id);
      }
      return true;
    },
    dueInMs() {
      const { due_at } = earliest.get() as { due_at: number | null };
      return due_at === null ? undefined : Math.max(0, due_at - clock());
    },
    forget: () => void forgotten.run(clock() - keptMs),
    close: () => database.close(),
  };
}
