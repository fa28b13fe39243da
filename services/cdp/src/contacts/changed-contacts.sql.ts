import type { Fragment, Sql } from '@customer-platform/service-kit';

/**
 * Statement that queues changed contacts for re-evaluation by audiences, for a `with` next to the change itself. `rows` selects account_id and
 * contact_id. Queues nothing if the account has no audiences.
 */
export const markChanged = (sql: Sql, rows: Fragment) => sql`
  insert into changed_contacts (account_id, contact_id)
  select distinct changed.account_id, changed.contact_id from (${rows}) as changed
  where exists (select from audiences a where a.account_id = changed.account_id)`;
