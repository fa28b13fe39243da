import type { PendingQuery, Row } from 'postgres';
import type { Sql } from '../database/database.ts';

/** Accounts whose events are carried apart from all others. */
export interface OutboxPart {
  name: string;
  /** Condition of their rows, by `outbox.account_id`. */
  where(sql: Sql): PendingQuery<Row[]>;
}
