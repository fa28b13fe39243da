import { type AccountContext, ApiError } from '@customer-platform/contracts/core';
import { findStages } from '@customer-platform/contracts/crm';
import type { PrefetchCall, Sql } from '@customer-platform/service-kit';
import { noPipelines, refuseWithoutPipelines } from '../settings/pipelines.ts';
import { type AgentPipeline, selectCollectionIds } from './agents.sql.ts';

interface NamingCall {
  account: AccountContext;
  prefetch<Answer>(work: (call: PrefetchCall) => Promise<Answer>): Answer;
}

/**
 * The pipelines that a caller gives to an agent, each once, in their order. Those that it has (`known`) stay, whatever became of them;
 * Pipelines is asked for the others. Throws invalid_request, field pipelines, naming what is none of the account.
 */
export function namedPipelines(
  { account, prefetch }: NamingCall,
  ids: readonly number[],
  known: readonly AgentPipeline[],
): AgentPipeline[] {
  const wanted = [...new Set(ids)];
  const unknown = wanted.filter((id) => !known.some((pipeline) => pipeline.id === id));
  if (unknown.length === 0) return wanted.map((id) => known.find((pipeline) => pipeline.id === id)!);
  refuseWithoutPipelines(account, 'pipelines');
  const found = prefetch(async ({ ask }) => {
    return (await ask(findStages, { pipelines: unknown, stages: [] })).pipelines;
  });
  return wanted.map((id) => {
    const pipeline = [...known, ...found].find((each) => each.id === id);
    if (!pipeline) throw noPipelines('pipelines', [id]);
    return { id, name: pipeline.name };
  });
}

/**
 * The collections that a caller gives to an agent, each once, in their order; those that it has (`known`) stay, whatever became of
 * them. Throws invalid_request, field collections, naming what is none of the account.
 */
export async function namedCollections(
  tx: Sql,
  accountId: string,
  ids: readonly number[],
  known: readonly number[],
): Promise<number[]> {
  const wanted = [...new Set(ids)];
  const unknown = wanted.filter((id) => !known.includes(id));
  const found = await selectCollectionIds(tx, accountId, unknown);
  const missing = unknown.filter((id) => !found.has(id));
  if (missing.length === 0) return wanted;
  const message = `collections must name collections of this account, not ${missing.join(', ')}`;
  throw new ApiError('invalid_request', message, { field: 'collections' });
}
