import { ApiError, type Operation } from '@customer-platform/contracts/core';
import { findStages } from '@customer-platform/contracts/crm';
import type { Call, Sql } from '@customer-platform/service-kit';
import { noPipelines, refuseWithoutPipelines } from '../settings/pipelines.ts';
import { type AgentPipeline, selectCollectionIds } from './agents.sql.ts';

type NamingCall = Pick<Call<Operation>, 'account' | 'prefetch'>;

/**
 * Returns the pipelines with the given ids, in order and without duplicates. Only ids that are not in `known`, the agent's pipelines, are
 * requested from Pipelines. Throws invalid_request, field pipelines, naming an id that is not a pipeline of the account.
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
  const found = prefetch(({ ask }) => ask(findStages, { pipelines: unknown, stages: [], namesOnly: true }));
  return wanted.map((id) => {
    const pipeline = [...known, ...found.pipelines].find((each) => each.id === id);
    if (!pipeline) throw noPipelines('pipelines', [id]);
    return { id, name: pipeline.name };
  });
}

/**
 * Returns the given collection ids, in order and without duplicates. Ids in `known`, the agent's collections, are not checked again.
 * Throws invalid_request, field collections, naming the ids that are not collections of the account.
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
