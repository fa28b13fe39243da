import type { Socket } from 'node:net';
import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Database, openDatabase } from './database.ts';

let platform: Platform;
let sql: Database;
/** The last socket that the pool dialled. */
let socket: Socket | undefined;

beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
  sql = openDatabase(platform.env('crm').DATABASE_URL!, { pool: 1, service: 'crm' });
  const options = sql.options as unknown as { socket: (parsed: unknown) => Socket; backoff: unknown };
  const { socket: dial } = options;
  options.socket = (parsed) => {
    socket = dial(parsed);
    return socket;
  };
});
afterAll(async () => {
  await sql?.end({ timeout: 1 });
  await platform?.stop();
});

it('the pool goes on at once after a connection that closed in the turn in which a statement was written', async () => {
  for (let round = 0; round < 3; round++) {
    expect(await sql`select 1 as one`).toEqual([{ one: 1 }]);
    socket!.destroy();
    // Callbacks of setImmediate come just before the one that says that a socket is closed: the driver writes into its buffer there, and would
    // send that in the next turn.
    await new Promise((resolve) => setImmediate(resolve));
    const cut = sql`select 2 as two`.then(
      () => 'done',
      (error: { code: string }) => error.code,
    );
    expect(['CONNECTION_CLOSED', 'done']).toContain(await cut);
    // A connection that stood still would have them time out.
    const [rows] = await Promise.all([sql`select 3 as three`, sql`select`]);
    expect(rows).toEqual([{ three: 3 }]);
  }
}, 60_000);
