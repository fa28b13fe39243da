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

/** Most events that one transaction writes. The outbox relay scans past uncommitted rows, which takes seconds for a million of them. */
const mostAtOnce = 5_000;
/** Most batches of moves of one kind per transaction. Changes one by one may enter and leave alternately, so batches may be tiny. */
const mostInRow = 20;
/** Announcing pauses while more events of an account than this wait for the bus. */
const mostWaitingEvents = 10_000;
const waitMs = 1_000;
const mostBehind = 50_000;
const candidates = 20;
/** Pause of an account after a failure. */
const failedMs = 10_000;
const maxCoolingDown = 10_000;
const mostDropped = 10_000;

/**
 * Returns whether an account has so many unpublished events that refreshes must pause. Every move adds an event, and repeated refreshes would produce
 * events faster than they are published.
 */
export async function isBehind(tx: Sql, accountId: string): Promise<boolean> {
  return (await hasWaitingEvents(tx, accountId, mostBehind)) || (await hasMoreMoves(tx, accountId, mostBehind));
}

/** Emits the events of the current refresh. Queues its moves instead if they are many, or if earlier moves are still queued. */
export async function emitMoves(call: WorkCall<unknown>, account: AccountContext, moves: number): Promise<void> {
  const { tx, now } = call;
  if (moves > mostAtOnce || (await hasMoves(tx, account.id))) {
    await keepMoves(tx, account.id, now);
    return;
  }
  await call.emitEach(audienceEntered, account, movedContacts(tx, account.id, true));
  await call.emitEach(audienceLeft, account, movedContacts(tx, account.id, false));
}

/** Emits audience.ready with the changes since `before`. If moves are queued, the event is queued behind them. */
export async function emitReady(
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

/** Emits the events of queued moves in their order, of one account per round. */
export function announceMoves(): Job<unknown> {
  const coolingDown = new LRUCache<string, true>({ max: maxCoolingDown, ttl: failedMs });
  return {
    name: 'announce-moves',
    due: { name: 'audience_announcements', due: 'due_at' },
    everyMs: 500,
    async run(call, scope) {
      const { tx, now } = call;
      const due = await selectAnnouncing(tx, now, { coolingDown: [...coolingDown.keys()], limit: candidates, scope });
      // A refresh of the account may queue more moves, so both use the same lock.
      const claimed = await claimAccount(call, due, {
        lock: 'audiences',
        missing: 'dropped audience moves of a missing account',
        drop: (dropTx, id) => dropMoves(dropTx, id, mostDropped),
      });
      if (!claimed?.account) return claimed !== undefined;
      const { id } = claimed;
      // Advancing a sandbox clock processes all due work, so there is no pause for a sandbox.
      const waits = !scope.account && (await hasWaitingEvents(tx, id, mostWaitingEvents));
      if (waits) await announceLater(tx, id, new Date(now.getTime() + waitMs));
      else
        await announceSome(call, claimed.account).catch((error: unknown) => {
          coolingDown.set(id, true);
          throw error;
        });
      return true;
    },
  };
}

/**
 * Emits the next events of a claimed account's queued moves; returns whether it did. If so, the refresh must leave its work to a later round: a
 * refresh may take minutes, and consecutive ones would starve the announcing job.
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

/** Returns whether no moves are left. */
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
      // `emit` writes at the end of the transaction, so the next moves are left to the next transaction.
      return false;
    }
    const event = moves.kind === 'entered' ? audienceEntered : audienceLeft;
    await emitEach(event, account, dataOfMoves(tx, account.id, moves));
    await finishMoves(tx, account.id, moves);
    left -= moves.count;
  }
  return false;
}
