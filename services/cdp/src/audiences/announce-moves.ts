import { audienceEntered, audienceLeft } from '@customer-platform/contracts/cdp';
import type { AccountContext } from '@customer-platform/contracts/core';
import type { Job, Sql, WorkCall } from '@customer-platform/service-kit';
import { claimAccount } from '../accounts/claim-account.ts';
import { hasWaitingEvents } from './due-audiences.sql.ts';
import { movedContacts } from './membership.sql.ts';
import {
  announceLater,
  dataOfMoves,
  dropMoves,
  finishMoves,
  hasMoreMoves,
  hasMoves,
  keepMoves,
  nextMoves,
  selectAnnouncing,
} from './moves.sql.ts';

/**
 * Events of moves that one transaction writes: whoever carries events of others to the bus reads over those that are not committed, which of a million
 * takes seconds each time.
 */
const mostAtOnce = 5_000;
/** Moves in a row of one kind, of one transaction: changes one by one may enter and leave in turn. */
const mostInRow = 20;
/** Events of an account that may wait for the bus when more are written. */
const mostWaitingEvents = 10_000;
const restMs = 1_000;
const mostBehind = 50_000;
const candidates = 20;

/**
 * Returns whether so many events of an account wait, written or not, that nobody else should move for now: each move is one more, and refreshes again and again would
 * lead to more of them than are carried.
 */
export async function isBehind(tx: Sql, accountId: string): Promise<boolean> {
  return (await hasWaitingEvents(tx, accountId, mostBehind)) || (await hasMoreMoves(tx, accountId, mostBehind));
}

/** Writes the events of the moves of the refresh under way, or keeps the moves for that where they are many, or others are kept. */
export async function tellOfMoves(call: WorkCall<unknown>, account: AccountContext, moves: number): Promise<void> {
  const { tx, now } = call;
  if (moves > mostAtOnce || (await hasMoves(tx, account.id))) {
    await keepMoves(tx, account.id, now);
    return;
  }
  await call.emitEach(audienceEntered, account, movedContacts(tx, account.id, true));
  await call.emitEach(audienceLeft, account, movedContacts(tx, account.id, false));
}

/** Writes the events of moves that were kept, of one account per round, in the order of the moves. */
export const announceMoves: Job<unknown> = {
  name: 'announce-moves',
  due: { name: 'audience_announcements', due: 'due_at' },
  everyMs: 500,
  async run(call, scope) {
    const { tx, now } = call;
    const due = await selectAnnouncing(tx, now, { limit: candidates, scope });
    // Not beside a refresh of the account, which may keep more.
    const claimed = await claimAccount(call, due, {
      lock: 'audiences',
      missing: 'moves of audiences without an account dropped',
      drop: dropMoves,
    });
    if (!claimed?.account) return claimed !== undefined;
    const { id } = claimed;
    // A sandbox's clock waits for all that is due.
    if (!scope.account && (await hasWaitingEvents(tx, id, mostWaitingEvents))) {
      await announceLater(tx, id, new Date(now.getTime() + restMs));
      return true;
    }
    const isDone = await announceSome(call, claimed.account);
    await announceLater(tx, id, isDone ? undefined : now);
    return true;
  },
};

/** Returns whether none is left. */
async function announceSome({ tx, emitEach }: WorkCall<unknown>, account: AccountContext): Promise<boolean> {
  let left = mostAtOnce;
  for (let row = 0; row < mostInRow && left > 0; row++) {
    const moves = await nextMoves(tx, account.id, left);
    if (!moves) return true;
    const event = moves.entered ? audienceEntered : audienceLeft;
    await emitEach(event, account, dataOfMoves(tx, account.id, moves));
    await finishMoves(tx, account.id, moves);
    left -= moves.count;
  }
  return false;
}
