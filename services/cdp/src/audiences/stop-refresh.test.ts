import { inTransaction, openDatabase } from '@customer-platform/service-kit';
import { startPlatform, waitFor } from '@customer-platform/testkit';
import { expect, it } from '@jest/globals';
import { tagged } from '../../test/audiences.ts';

it('stopping a process cancels a long refresh and rolls it back', async () => {
  const platform = await startPlatform({ services: ['cdp'] });
  const own = openDatabase(platform.env('cdp').DATABASE_URL!, { pool: 2, service: 'cdp', statementMs: 120_000 });
  const refreshes = () => own`
    select from pg_stat_activity where query like 'insert into audience_changes%' and state = 'active' and datname = current_database()`;
  let stopped: Promise<void> | undefined;
  await inTransaction(own, async (tx) => {
    await tx`lock table contacts in access exclusive mode`;
    const { client } = await platform.account();
    await client.cdp.audiences.create({ body: { name: 'Tea', rules: tagged('tea') } });
    await waitFor('the refresh to wait', async () => (await refreshes()).length === 1);
    stopped = platform.stop({ keepsDatabase: true });
    await stopped;
    await waitFor('PostgreSQL to cancel it', async () => (await refreshes()).length === 0);
  });
  const [audience] = await own`select status, due_at is not null as is_due from audiences`;
  expect(audience).toEqual({ status: 'building', is_due: true });
  await own.end();
}, 90_000);
