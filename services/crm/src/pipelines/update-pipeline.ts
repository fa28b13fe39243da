import { ApiError } from '@customer-platform/contracts/core';
import * as contract from '@customer-platform/contracts/crm';
import { implement } from '../implement.ts';
import { lockPipeline, type PlannedStage, selectPipeline, stageWithDeals, updatePipelineRow } from './pipelines.sql.ts';

export const updatePipeline = implement(contract.updatePipeline, {
  find: ({ account, tx, params }) => lockPipeline(tx, account.id, params.pipeline_id),
  async handle({ account, tx, body, found, fail }) {
    const name = body.name ?? found.name;
    const stages = body.stages ? plannedStages(body.stages, found.stages) : found.stages;
    if (name === found.name && areSame(stages, found.stages)) return found;

    const kept = new Set(stages.map((stage) => stage.id));
    const removed = found.stages.filter((stage) => !kept.has(stage.id)).map((stage) => stage.id);
    const used = await stageWithDeals(tx, account.id, removed);
    if (used !== undefined) {
      const message = `The stage ${used} has deals and cannot be removed; keep it, or move or delete its deals first`;
      return fail('invalid_state', message);
    }
    await updatePipelineRow(tx, account.id, { id: found.id, name, stages });
    return (await selectPipeline(tx, account.id, found.id))!;
  },
});

/** Returns a pipeline's stages after a PATCH. Throws invalid_request, field stages, for an unknown or repeated id. */
function plannedStages(
  given: readonly { id?: number | undefined; name?: string | undefined }[],
  current: readonly contract.Stage[],
): PlannedStage[] {
  return given.map(({ id = null, name }, index) => {
    if (id === null) return { id, name: name! };
    const stage = current.find((each) => each.id === id);
    if (!stage) throw wrongStage(index, 'must be the id of a stage of this pipeline');
    const first = given.findIndex((each) => each.id === id);
    if (first !== index) throw wrongStage(index, `must be unique; stages[${first}] has the same id`);
    return { id, name: name ?? stage.name };
  });
}

function wrongStage(index: number, rule: string): ApiError {
  return new ApiError('invalid_request', `stages[${index}].id ${rule}`, { field: 'stages' });
}

function areSame(stages: readonly PlannedStage[], current: readonly contract.Stage[]): boolean {
  const isSame = ({ id, name }: PlannedStage, index: number) =>
    current[index]?.id === id && current[index].name === name;
  return stages.length === current.length && stages.every(isSame);
}
