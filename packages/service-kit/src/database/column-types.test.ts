import { type Platform, startPlatform, startRelay } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Database, openDatabase } from './database.ts';

let platform: Platform;
let sql: Database;
beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
  sql = platform.database('crm');
});
afterAll(() => platform?.stop());

const id = '0198f1a2-0000-7000-8000-000000000000';

it.each<[string, unknown[]]>([
  ['name', ['a', 'b c']],
  ['smallint', [1, -2]],
  ['integer', [1, -2_000_000_000]],
  ['bigint', [1, 2 ** 53 - 1]],
  ['real', [1.5, -0.25]],
  ['double precision', [0.1, 1e300]],
  ['uuid', [id]],
  ['text', ['', 'NULL', '{"a,\\']],
  ['varchar', ['é']],
  ['numeric', ['1.10']],
  ['oid', ['16']],
  ['regclass', ['outbox']],
  ['tsquery', ["'a' & 'b'"]],
  ['tsvector', ["'a' 'b'"]],
  ['jsonb', [{ a: [1, '"', null] }, [], 'text', 1]],
  ['json', [{ a: 1 }]],
])('an array of %s comes back from PostgreSQL as it was, with nulls among it', async (type, values) => {
  for (const given of [values, [...values, null], []]) {
    const [row] = await sql.unsafe(`select $1::${type}[] as given`, [given as never]);
    expect(row).toEqual({ given });
  }
});

it('arrays of truth values and of instants are read; the driver takes those that it is given for one value', async () => {
  const at = new Date('2026-11-28T09:00:00.123Z');
  const [row] = await sql`
    select ${['t', 'f', null]}::text[]::boolean[] as truths, ${[at.toISOString(), null]}::text[]::timestamptz[] as instants`;
  expect(row).toEqual({ truths: [true, false, null], instants: [at, null] });
});

it('a connection asks PostgreSQL for no types', async () => {
  let sent = '';
  const relay = await startRelay(platform.env('crm').DATABASE_URL!, (bytes) => {
    sent += bytes.toString('latin1');
  });
  const pool = openDatabase(relay.url, { pool: 1, service: 'crm' });
  try {
    await pool`select ${[1]}::int[]`;
    expect(sent).toContain('int[]');
    expect(sent).not.toContain('pg_type');
  } finally {
    await pool.end({ timeout: 0 });
    await relay.stop();
  }
});
