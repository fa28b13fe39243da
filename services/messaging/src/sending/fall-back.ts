import { batchOf, type Job, RowFinder } from '@customer-platform/service-kit';
import type { MessagingResources } from '../implement.ts';
import { changedAtOnce, changeMessages } from '../messages/change-messages.ts';
import { takeResult, takeSuspension, takeTimer } from '../messages/message-state.ts';
import { type DueFallback, dueFallbacks, runningTries, selectLostTries } from './claims.sql.ts';

/** A call ends within 15 s. A process that stored no result 30 s later is gone. */
const lostAfterMs = 45_000;
/** Result of a call whose process died: whether the provider was called is unknown. */
const lost = { outcome: 'unknown', message: 'The provider did not respond' } as const;

const finder = new RowFinder(dueFallbacks);
const room = batchOf(changedAtOnce);

/** Continues with the next channel if no receipt arrived in time. */
export const fallBack: Job<MessagingResources> = {
  name: 'fall-back',
  queue: { queue: 'fallbacks', rows: dueFallbacks },
  everyMs: 500,
  async run(call, scope) {
    const { tx: sql, now } = call;
    const { rows, hasMore } = await finder.take({ sql, now, scope, room }, async (due) => ({
      rows: await sql<DueFallback[]>`${due}`,
    }));
    await changeMessages(
      call,
      rows.map((ref) => ({
        ...ref,
        apply: (message, account) =>
          account?.suspended ? takeSuspension(message, now) : takeTimer(message, ref.number, now),
      })),
    );
    if (rows.length > 0) call.resources.sending.wake();
    return hasMore;
  },
};

/** Ends calls whose process died before it stored a result. They are not repeated. */
export const endLostTries: Job<MessagingResources> = {
  name: 'end-lost-tries',
  due: { ...runningTries, afterMs: lostAfterMs },
  everyMs: 5_000,
  async run(call, scope) {
    const before = new Date(call.now.getTime() - lostAfterMs);
    const tries = await selectLostTries(call.tx, scope, before, changedAtOnce);
    await changeMessages(
      call,
      tries.map((each) => ({ ...each, apply: (message) => takeResult(message, each, lost, call.now) })),
    );
    return tries.length === changedAtOnce;
  },
};
