import { audienceEntered, audienceLeft, audienceReady } from '@customer-platform/contracts/cdp';
import type { AccountContext } from '@customer-platform/contracts/core';
import { type Job, LRUCache, type Sql, type WorkCall } from '@customer-platform/service-kit';
import { claimAccount } from '../accounts/claim-account.ts';
import {
  announceLater,
  dataOfMoves,
  dropMoves,
  finishMoves,
  hasMoreMoves,
  hasMoves,
  isAnnouncingDue,
  keepMoves,
  keepReady,
  nextMoves,
  readyOfMoves,
  selectAnnouncing,
} from '../moves/moves.sql.ts';
import { replacedBy, toAudience } from './audience.ts';
import { type AudienceRow, type Computed, selectAudience } from './audiences.sql.ts';
import { hasWaitingEvents } from './due-audiences.sql.ts';
import { movedContacts } from './membership.sql.ts';

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
/** Pause of an account after a failure. */
const failedMs = 10_000;
const maxResting = 10_000;
const mostDropped = 10_000;

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

/** Says that an audience is ready which was as `before`, behind the moves that are kept. */
export async function tellReady(
  call: WorkCall<unknown>,
  account: AccountContext,
  row: AudienceRow,
  before: Computed,
): Promise<void> {
  const audience = toAudience({ ...row, status: 'ready' }, account.timezone);
  const previous = replacedBy(audience, before, account.timezone);
  if (await hasMoves(call.tx, account.id)) await keepReady(call.tx, account.id, row.id, previous);
  else call.emit(audienceReady, account, { audience, previous });
}

/** Writes the events of moves that were kept, of one account per round, in the order of the moves. */
export function announceMoves(): Job<unknown> {
  const resting = new LRUCache<string, true>({ max: maxResting, ttl: failedMs });
  return {
    name: 'announce-moves',
    due: { name: 'audience_announcements', due: 'due_at' },
    everyMs: 500,
    async run(call, scope) {
      const { tx, now } = call;
      const due = await selectAnnouncing(tx, now, { resting: [...resting.keys()], limit: candidates, scope });
      // Not beside a refresh of the account, which may keep more.
      const claimed = await claimAccount(call, due, {
        lock: 'audiences',
        missing: 'moves of audiences without an account dropped',
        drop: (dropTx, id) => dropMoves(dropTx, id, mostDropped),
      });
      if (!claimed?.account) return claimed !== undefined;
      const { id } = claimed;
      // A sandbox's clock waits for all that is due.
      const waits = !scope.account && (await hasWaitingEvents(tx, id, mostWaitingEvents));
      if (waits) await announceLater(tx, id, new Date(now.getTime() + restMs));
      else
        await announceSome(call, claimed.account).catch((error: unknown) => {
          resting.set(id, true);
          throw error;
        });
      return true;
    },
  };
}

/**
 * Writes a part of an account's kept moves, which must be claimed, and returns whether it did; then a refresh is for another round, which may take minutes: rounds of
 * refreshes leave the job no gap.
 */
export async function announceNext(call: WorkCall<unknown>, account: AccountContext): Promise<boolean> {
  const { tx, now } = call;
  if (!(await isAnnouncingDue(tx, account.id, now))) return false;
  if (await hasWaitingEvents(tx, account.id, mostWaitingEvents)) return false;
  await announceSome(call, account);
  return true;
}

async function announceSome(call: WorkCall<unknown>, account: AccountContext): Promise<void> {
  const isDone = await announceRows(call, account);
  await announceLater(call.tx, account.id, isDone ? undefined : call.now);
}

/** Returns whether none is left. */
async function announceRows({ tx, emit, emitEach }: WorkCall<unknown>, account: AccountContext): Promise<boolean> {
  let left = mostAtOnce;
  for (let row = 0; row < mostInRow && left > 0; row++) {
    const moves = await nextMoves(tx, account.id, left);
    if (!moves) return true;
    if (moves.kind === 'ready') {
      for (const { audience_id, previous } of await readyOfMoves(tx, account.id, moves)) {
        const audience = await selectAudience(tx, account.id, audience_id);
        if (audience?.status === 'ready')
          emit(audienceReady, account, {
            audience: toAudience(audience, account.timezone),
            previous: previous ?? undefined,
          });
      }
      await finishMoves(tx, account.id, moves);
      // It is written at the end of the transaction: what follows is for the next.
      return false;
    }
    const event = moves.kind === 'entered' ? audienceEntered : audienceLeft;
    await emitEach(event, account, dataOfMoves(tx, account.id, moves));
    await finishMoves(tx, account.id, moves);
    left -= moves.count;
  }
  return false;
}
