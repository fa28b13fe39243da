import { Socket } from 'node:net';
import { expect } from '@jest/globals';
import type { Database } from '../src/database/database.ts';

/** Closes the connection of a pool of one, three times, in the turn in which a statement is written, and expects it to go on at once. */
export async function expectToGoOn(pool: Database): Promise<void> {
  const { connect } = Socket.prototype;
  /** The last socket that the pool dialled. */
  let socket: Socket | undefined;
  Socket.prototype.connect = function (this: Socket, ...target: never[]) {
    socket = this;
    return connect.apply(this, target as never);
  } as never;
  try {
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
  } finally {
    Socket.prototype.connect = connect;
  }
}
