import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Database, openDatabase } from '@customer-platform/service-kit';
import {
  type Platform,
  type Relay,
  startPlatform,
  startRelay,
  type TestAccount,
  waitFor,
} from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';

const dayMs = 86_400_000;
let directory: string;
let main: Relay;
let east: Relay;
let platform: Platform;
let sql: Database;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'cells-'));
  main = await startRelay(process.env.TEST_NATS_URL!);
  east = await startRelay(process.env.TEST_NATS_URL!);
  const file = join(directory, 'cells.json');
  writeFileSync(file, JSON.stringify({ east: { services: {}, nats: { url: east.url } } }));
  platform = await startPlatform({ services: ['crm'], env: { CELLS: file, NATS_URL: main.url } });
  sql = openDatabase(platform.env('gateway').DATABASE_URL!, { pool: 1, service: 'gateway' });
}, 60_000);
afterAll(async () => {
  for (const relay of [main, east]) relay?.mend();
  await sql?.end();
  await platform?.stop();
  await main?.stop();
  await east?.stop();
  rmSync(directory, { recursive: true });
});

const advance = (account: TestAccount) =>
  account.request('POST', '/v1/sandbox/clock', {
    key: account.testKey,
    body: { advance_to: new Date(Date.now() + dayMs).toISOString() },
  });
const isReady = async (account: TestAccount) =>
  (await account.request('GET', '/v1/sandbox/clock', { key: account.testKey })).body.status === 'ready';

it('a clock of a cell moves while the bus of the main cell is unavailable', async () => {
  const inEast = await platform.account({ cell: 'east' });
  main.cut();
  try {
    expect((await advance(inEast)).status).toBe(202);
    await waitFor('its clock', () => isReady(inEast), 60_000);
  } finally {
    main.mend();
  }
}, 120_000);

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
  expect((await advance(account)).status).toBe(202);
  await waitFor('the clock of main', () => isReady(account), 60_000);
  const [left] = await sql<{ untried: number }[]>`
    select count(*)::int as untried from clock_advances where leased_until is null and waits_since < now() - interval '50 minutes'`;
  // It did not come after all of them.
  expect(left!.untried).toBeGreaterThan(0);
  await sql`delete from clock_advances`;
}, 120_000);
