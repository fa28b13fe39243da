import { type Database, inTransaction } from '@customer-platform/service-kit';
import { waitFor } from './wait-for.ts';

/**
 * Runs `change`, a write by the service of `sql` that emits an event, and blocks it after its rows. Then runs `list`, and unblocks the write once the
 * list waits for it or has ended. Returns both results.
 */
export async function listDuringWrite<Changed, Listed>(
  sql: Database,
  change: () => Promise<Changed>,
  list: () => Promise<Listed>,
): Promise<{ changed: Changed; listed: Listed }> {
  const isWaiting = async (kind: 'relation' | 'advisory') => {
    const rows = await sql`
      select from pg_locks where not granted and locktype = ${kind}
        and database = (select oid from pg_database where datname = current_database())`;
    return rows.length > 0;
  };
  const both = await inTransaction(sql, async (tx) => {
    // A write emits its events last, so this lock blocks it after its other rows.
    await tx`lock table outbox in exclusive mode`;
    const changed = change();
    await waitFor('the change to be written', () => isWaiting('relation'));
    let isOver = false;
    const listed = list().finally(() => {
      isOver = true;
    });
    await waitFor('the list to wait for it', async () => isOver || (await isWaiting('advisory')));
    return { changed, listed };
  });
  const [changed, listed] = await Promise.all([both.changed, both.listed]);
  return { changed, listed };
}
