import { batchOf, type Job, RowFinder } from '@customer-platform/service-kit';
import type { MessagingResources } from '../implement.ts';
import { changedAtOnce, changeMessages } from '../messages/change-messages.ts';
import { takeResult, takeSuspension, takeTimer } from '../messages/message-state.ts';
import { type DueFallback, dueFallbacks, runningTries, selectLostTries } from './claims.sql.ts';

/** A try is over after 15 s; whoever has written nothing half a minute later is not there any more. */
const lostAfterMs = 45_000;
/** Result of a try whose process died: it is unknown whether the provider was called. */
const lost = { outcome: 'unknown', message: 'The provider did not respond' } as const;

const finder = new RowFinder(dueFallbacks);
const room = batchOf(changedAtOnce);

/** Goes on with the next channel where nobody was reached in time. */
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

/** Ends tries whose process died before it wrote what they came to: they are not made again. */
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
