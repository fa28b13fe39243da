import { knowledgeFailed, knowledgeReady, type SourceStatus } from '@customer-platform/contracts/agents';
import {
  changedValues,
  type Foundation,
  inWorkTransaction,
  isRefusedData,
  type Sql,
  type WorkCall,
} from '@customer-platform/service-kit';
import { nextReading } from '../knowledge/next-reading.ts';
import { replacePassages } from '../knowledge/passages.sql.ts';
import { toSource } from '../knowledge/source.ts';
import { lockSource, type SourceRow, selectSource } from '../knowledge/sources.sql.ts';
import type { Reading } from './read-source.ts';
import { type Claim, type EndedReading, endReading, replacePages } from './reading.sql.ts';

const minuteMs = 60_000;
/** When what was read on its schedule in vain is tried again; after that it waits for its next time. */
const retriesMs = [5 * minuteMs, 60 * minuteMs];

const refused = 'It has text that cannot be stored';

/**
 * Writes what reading came to, a reading or why there is none, in one transaction under the source's lock, with its event. A source that was
 * changed meanwhile, or asked for anew, is due again, and one that another process has claimed since is its own: these are left alone.
 * What PostgreSQL will never take is not tried again: the source has failed. Answers what came of the reading.
 */
export async function writeReading(
  foundation: Foundation,
  claim: Claim,
  result: Reading | { reason: string },
): Promise<'read' | 'failed'> {
  const write = (what: Reading | { reason: string }) =>
    inWorkTransaction({ ...foundation, resources: undefined }, (call) => writeIn(call, claim, what));
  try {
    await write(result);
    return 'passages' in result ? 'read' : 'failed';
  } catch (error) {
    if (!isRefusedData(error) && !isBeyondLimits(error)) throw error;
    foundation.log.error({ err: error, source: claim.id }, 'what was read of a source cannot be stored');
    await write({ reason: refused });
    return 'failed';
  }
}

/** Whether PostgreSQL says that values are more than it can take: SQLSTATE class 54. */
function isBeyondLimits(error: unknown): boolean {
  return String((error as { code?: unknown } | null)?.code ?? '').startsWith('54');
}

async function writeIn(
  { tx, now, emit, findAccounts }: WorkCall<undefined>,
  claim: Claim,
  result: Reading | { reason: string },
): Promise<void> {
  const account = findAccounts([claim.account_id]).get(claim.account_id);
  const before = await lockSource(tx, claim.account_id, claim.id);
  if (!before || before.tries !== claim.tries) return;
  if (before.content !== claim.content || before.status !== claim.status) return;
  if (!account) {
    await endReading(tx, claim, { ...endedBadly(before, 'Its account no longer exists', claim, now), dueAt: null });
    return;
  }
  const isRead = 'passages' in result;
  if (isRead) await keep(tx, claim, result, account.language);
  const ended = isRead ? endedWell(before, result, now) : endedBadly(before, result.reason, claim, now);
  await endReading(tx, claim, ended);
  // A refresh that fails takes nothing away: nobody is told of it.
  const hasFailed = ended.status === 'failed' && before.status !== 'failed';
  const isTold = isRead ? before.status !== 'ready' || result.isChanged : hasFailed;
  if (!isTold) return;
  const shown = toSource(before, account.timezone);
  const source = toSource((await selectSource(tx, claim.account_id, claim.id))!, account.timezone);
  emit(isRead ? knowledgeReady : knowledgeFailed, account, { source, previous: changedValues(shown, source) ?? {} });
}

async function keep(tx: Sql, claim: Claim, reading: Reading, language: string): Promise<void> {
  const { website, passages } = reading;
  if (website) await replacePages(tx, claim, website.pages);
  if (website?.replaced.length === 0) return;
  await replacePassages(tx, claim.account_id, claim.id, passages, language, website?.replaced);
}

function endedWell(before: SourceRow, { isChanged }: Reading, now: Date): EndedReading {
  const isSame = before.status === 'ready' && before.error === '' && !isChanged;
  return {
    status: 'ready',
    error: '',
    dueAt: nextReading(before, now),
    tries: 0,
    updatedAt: isSame ? before.updated_at : now,
    readContent: before.content,
  };
}

/**
 * A source of which is kept what there is to be read stays ready with it, and says why it could not be read again; on its schedule it is
 * tried again sooner. Any other has failed until the next time.
 */
function endedBadly(before: SourceRow, reason: string, { tries }: Claim, now: Date): EndedReading {
  const retryMs = before.status === 'ready' ? retriesMs[tries - 1] : undefined;
  const isKept = before.status === 'ready' || before.read_content === before.content;
  const status: SourceStatus = isKept ? 'ready' : 'failed';
  const isSame = before.status === status && before.error === reason;
  return {
    status,
    error: reason,
    dueAt: retryMs === undefined ? nextReading(before, now) : new Date(now.getTime() + retryMs),
    tries: retryMs === undefined ? 0 : tries,
    updatedAt: isSame ? before.updated_at : now,
    readContent: before.read_content,
  };
}
