import type { Sql } from '@customer-platform/service-kit';

/** The cell of an outbox row's account: looked up row by row, since a join could read all accounts for a few events. */
export function cellOfRow(sql: Sql): ReturnType<Sql> {
  return sql`(select cell from accounts where accounts.account_id = outbox.account_id)`;
}
