import type { Socket } from 'node:net';
import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, openDatabase } from './database.ts';

let platform: Platform;
let sql: Database | undefined;

beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
});
afterEach(() => sql?.end({ timeout: 1 }));
afterAll(() => platform?.stop());

describe.each([
  ['a long start-up message', false],
  ['a short one, as for a pooler', true],
])('with %s', (_name, isPooled) => {
  it('the pool goes on at once after a connection that closed in the turn in which a statement was written', async () => {
    const pool = openDatabase(platform.env('crm').DATABASE_URL!, { pool: 1, service: 'crm', isPooled });
    sql = pool;
    const options = pool.options as unknown as { socket: (parsed: unknown) => Promise<Socket> };
    const { socket: dial } = options;
    /** The last socket that the pool dialled. */
    let socket: Socket | undefined;
    options.socket = async (parsed) => {
      socket = await dial(parsed);
      return socket;
    };
    for (let round = 0; round < 3; round++) {
      expect(await pool`select 1 as one`).toEqual([{ one: 1 }]);
      socket!.destroy();
      // Callbacks of setImmediate come just before the one that says that a socket is closed: the driver writes into its buffer there, and would
      // send that in the next turn.
      await new Promise((resolve) => setImmediate(resolve));
      const cut = pool`select 2 as two`.then(
        () => 'done',
        (error: { code: string }) => error.code,
      );
      expect(['CONNECTION_CLOSED', 'done']).toContain(await cut);
      // A connection that stood still would have them time out.
      const [rows] = await Promise.all([pool`select 3 as three`, pool`select`]);
      expect(rows).toEqual([{ three: 3 }]);
    }
  }, 60_000);
});
