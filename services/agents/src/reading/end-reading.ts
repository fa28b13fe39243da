import { knowledgeFailed, knowledgeReady, type SourceStatus } from '@customer-platform/contracts/agents';
import { Unreadable } from '@customer-platform/documents';
import {
  changedValues,
  type Foundation,
  inWorkTransaction,
  type Sql,
  type WorkCall,
} from '@customer-platform/service-kit';
import { replacePassages } from '../knowledge/passages.sql.ts';
import { nextReading, toSource } from '../knowledge/source.ts';
import { lockSource, type SourceRow, selectSource } from '../knowledge/sources.sql.ts';
import type { Reading } from './read-source.ts';
import { type ClaimedSource, type EndedReading, endReading, replacePages } from './reading.sql.ts';

const minuteMs = 60_000;
/** Milliseconds before each retry of a failed scheduled reading. After the last retry the source waits for its schedule. */
const retriesMs = [5 * minuteMs, 60 * minuteMs];

const refused = 'It has text that cannot be stored';

/**
 * Writes a reading, or the reason why it failed, with its event, in one transaction under the source's lock. Writes nothing if the source
 * was changed, refreshed or claimed again since. Fails the source without a retry if PostgreSQL rejects the data or the account's
 * knowledge is full. Returns the outcome of the reading.
 */
export async function writeReading(
  foundation: Foundation,
  claim: ClaimedSource,
  result: Reading | { reason: string },
): Promise<'read' | 'failed'> {
  const write = (what: Reading | { reason: string }) =>
    inWorkTransaction({ ...foundation, resources: undefined }, (call) => writeIn(call, claim, what));
  try {
    await write(result);
    return 'passages' in result ? 'read' : 'failed';
  } catch (error) {
    const isFull = error instanceof Unreadable;
    if (!isFull && !isRefusedData(error)) throw error;
    if (!isFull) foundation.log.error({ err: error, source: claim.id }, 'cannot store the text of a source');
    await write({ reason: isFull ? error.message : refused });
    return 'failed';
  }
}

async function writeIn(
  { tx, now, emit, findAccounts }: WorkCall<undefined>,
  claim: ClaimedSource,
  result: Reading | { reason: string },
): Promise<void> {
  const account = findAccounts([claim.account_id]).get(claim.account_id);
  const before = await lockSource(tx, claim.account_id, claim.id);
  if (!before || before.tries !== claim.attempts) return;
  if (before.content !== claim.content || before.status !== claim.status) return;
  if (!account) {
    await endReading(tx, claim, { ...failureEnd(before, 'Its account no longer exists', claim, now), due_at: null });
    return;
  }
  const isRead = 'passages' in result;
  if (isRead) await storeReading(tx, claim, result, account.language);
  const ended = isRead ? successEnd(before, result, now) : failureEnd(before, result.reason, claim, now);
  await endReading(tx, claim, ended);
  // A failed refresh changes nothing for users, so it emits no event.
  const hasFailed = ended.status === 'failed' && before.status !== 'failed';
  const emitsEvent = isRead ? before.status !== 'ready' || result.isChanged : hasFailed;
  if (!emitsEvent) return;
  const shown = toSource(before, account.timezone);
  const source = toSource((await selectSource(tx, claim.account_id, claim.id))!, account.timezone);
  emit(isRead ? knowledgeReady : knowledgeFailed, account, { source, previous: changedValues(shown, source) ?? {} });
}

async function storeReading(tx: Sql, claim: ClaimedSource, reading: Reading, language: string): Promise<void> {
  const { website, passages } = reading;
  if (website) await replacePages(tx, claim, website.pages);
  if (website?.replaced.length === 0) return;
  const source = { accountId: claim.account_id, sourceId: claim.id, language };
  await replacePassages(tx, source, passages, website?.replaced);
}

function successEnd(before: SourceRow, { isChanged }: Reading, now: Date): EndedReading {
  const isSame = before.status === 'ready' && before.error === '' && !isChanged;
  return {
    status: 'ready',
    error: '',
    due_at: nextReading(before, now),
    tries: 0,
    updated_at: isSame ? before.updated_at : now,
    read_content: before.content,
  };
}

/**
 * Returns the end of a failed reading. A source with passages of its current content stays ready, with the reason in `error`. A scheduled
 * reading is retried before its next schedule. Any other source stays failed until its next reading.
 */
function failureEnd(before: SourceRow, reason: string, { attempts }: ClaimedSource, now: Date): EndedReading {
  const retryMs = before.status === 'ready' ? retriesMs[attempts - 1] : undefined;
  const isKept = before.status === 'ready' || before.read_content === before.content;
  const status: SourceStatus = isKept ? 'ready' : 'failed';
  const isSame = before.status === status && before.error === reason;
  return {
    status,
    error: reason,
    due_at: retryMs === undefined ? nextReading(before, now) : new Date(now.getTime() + retryMs),
    tries: retryMs === undefined ? 0 : attempts,
    updated_at: isSame ? before.updated_at : now,
    read_content: before.read_content,
  };
}

/** Returns whether PostgreSQL always rejects these values: one has the wrong type, violates a constraint or exceeds a limit. */
function isRefusedData(error: unknown): boolean {
  return /^(2[23]|54)...$/.test(String((error as { code?: unknown } | null)?.code));
}
