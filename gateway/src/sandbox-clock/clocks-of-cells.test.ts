import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Database, openDatabase } from '@customer-platform/service-kit';
import { type Platform, type Relay, startPlatform, startRelay, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';

const dayMs = 86_400_000;
let directory: string;
let east: Relay;
let platform: Platform;
let sql: Database;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'cells-'));
  east = await startRelay(process.env.TEST_NATS_URL!);
  const file = join(directory, 'cells.json');
  writeFileSync(file, JSON.stringify({ east: { services: {}, nats: { url: east.url } } }));
  platform = await startPlatform({ services: ['crm'], env: { CELLS: file } });
  sql = openDatabase(platform.env('gateway').DATABASE_URL!, { pool: 1, service: 'gateway' });
}, 60_000);
afterAll(async () => {
  east?.mend();
  await sql?.end();
  await platform?.stop();
  await east?.stop();
  rmSync(directory, { recursive: true });
});

it('the clocks of a cell that does not respond keep those of another waiting for nothing', async () => {
  const account = await platform.account();
  const inEast = await platform.account({ cell: 'east' });
  east.stall();
  // Very many, all of which wait for longer.
  await sql`
    with many as (
      insert into accounts select gen.* from accounts model cross join generate_series(1, 400) as n cross join lateral
        jsonb_populate_record(model, jsonb_build_object('account_id', uuidv7(), 'parent_id', null, 'name', n::text)) as gen
      where model.account_id = ${inEast.id} returning account_id
    )
    insert into clock_advances (account_id, target, waits_since)
    select account_id, now() + interval '1 day', now() - interval '1 hour' from many`;
  const key = account.testKey;
  const begun = await account.request('POST', '/v1/sandbox/clock', {
    key,
    body: { advance_to: new Date(Date.now() + dayMs).toISOString() },
  });
  expect(begun.status).toBe(202);
  const ready = async () => (await account.request('GET', '/v1/sandbox/clock', { key })).body.status === 'ready';
  await waitFor('the clock of main', ready, 60_000);
  const [left] = await sql<{ untried: number }[]>`
    select count(*)::int as untried from clock_advances where leased_until is null and waits_since < now() - interval '50 minutes'`;
  // It did not come after all of them.
  expect(left!.untried).toBeGreaterThan(0);
  await sql`delete from clock_advances`;
}, 120_000);
