import { inTransaction } from '@customer-platform/service-kit';
import type { Platform } from '@customer-platform/testkit';
import { type NewCall, settleCall } from '../src/usage/ledger.sql.ts';
import { reserveCall } from '../src/usage/ledger.ts';

type Database = ReturnType<Platform['database']>;

/** Default fields of a call. */
export const usual = {
  pipelineId: null,
  planId: 1,
  kind: 'planning',
  provider: 'openai_compatible',
  model: 'gpt-9',
  tokens: 100,
} as const;

/** Reserves a call's tokens in a transaction of its own. */
export function reserve(
  database: Database,
  call: Pick<NewCall, 'accountId' | 'day' | 'agentId'> & Partial<NewCall>,
  now = new Date(),
): Promise<{ call: string } | { refusal: string }> {
  return inTransaction(database, (tx) => reserveCall(tx, { ...usual, ...call }, now));
}

/** Reserves and settles a call, by default as answered. */
export async function use(
  database: Database,
  call: Pick<NewCall, 'accountId' | 'day' | 'agentId'> & Partial<NewCall>,
  [promptTokens, completionTokens]: readonly [number, number],
  outcome: 'answered' | 'refused' | 'unknown' = 'answered',
): Promise<void> {
  const reserved = await reserve(database, call);
  if ('refusal' in reserved) throw new Error(reserved.refusal);
  await settle(database, { accountId: call.accountId, id: reserved.call }, [promptTokens, completionTokens], outcome);
}

/** Settles a call in a transaction of its own. */
export function settle(
  database: Database,
  { accountId, id }: { accountId: string; id: string },
  [promptTokens, completionTokens]: readonly [number, number],
  outcome: 'answered' | 'refused' | 'unknown' = 'answered',
): Promise<number> {
  const result = { outcome, promptTokens, completionTokens };
  return inTransaction(database, (tx) => settleCall(tx, { accountId, planId: usual.planId, id }, result, new Date()));
}
