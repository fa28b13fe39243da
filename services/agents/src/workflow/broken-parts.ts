import { findMembers } from '@customer-platform/contracts/accounts';
import type { AgentAction, WorkflowBlock } from '@customer-platform/contracts/agents';
import { findStages } from '@customer-platform/contracts/crm';
import type { Ask } from '@customer-platform/service-kit';

/** Returns the resources that blocks reference, without duplicates. */
export function partsOf(blocks: readonly WorkflowBlock[]) {
  const named = <Part>(partOf: (block: WorkflowBlock) => Part | undefined) => [
    ...new Set(blocks.map(partOf).filter((part) => part !== undefined)),
  ];
  return {
    actions: named(({ kind, action }) => (kind === 'action' ? action : undefined)),
    teammates: named(({ teammate }) => teammate),
    pipelines: named(({ pipeline }) => pipeline),
    stages: named(({ stage }) => stage),
    collections: named(({ collection }) => collection),
  };
}

/** Referenced resources that exist. */
export interface KnownParts {
  /** False if Pipelines is switched off. Then no pipelines or stages exist. */
  hasPipelines: boolean;
  actions: readonly AgentAction[];
  /** Emails of active teammates. */
  teammates: ReadonlySet<string>;
  pipelines: ReadonlySet<number>;
  /** Pipeline ids by stage id. */
  stages: ReadonlyMap<number, number>;
  collections: ReadonlySet<number>;
}

/** Requests the referenced resources from other services. A teammate who left is not active. */
export async function askForParts(
  ask: Ask,
  { teammates, pipelines, stages }: ReturnType<typeof partsOf>,
): Promise<Pick<KnownParts, 'teammates' | 'pipelines' | 'stages'>> {
  const needsPipelines = pipelines.length + stages.length > 0;
  const [{ members }, found] = await Promise.all([
    teammates.length > 0 ? ask(findMembers, { emails: teammates }) : { members: [] },
    needsPipelines ? ask(findStages, { pipelines, stages, namesOnly: true }) : { pipelines: [], stages: [] },
  ]);
  return {
    teammates: new Set(members.filter(({ active }) => active).map(({ email }) => email)),
    pipelines: new Set(found.pipelines.map(({ id }) => id)),
    stages: new Map(found.stages.map(({ id, pipeline }) => [id, pipeline])),
  };
}

/** Returns a phrase for each broken reference of the blocks. */
export function brokenParts(blocks: readonly WorkflowBlock[], known: KnownParts): string[] {
  const named = partsOf(blocks);
  const stageExists = (stage: number) =>
    blocks.every(
      (block) =>
        block.stage !== stage ||
        (known.stages.has(stage) && (block.pipeline === undefined || block.pipeline === known.stages.get(stage))),
    );
  const namesPipelines = named.pipelines.length + named.stages.length > 0;
  const gone = [
    ...named.pipelines.filter((id) => !known.pipelines.has(id)).map((id) => `pipeline ${id} no longer exists`),
    ...named.stages.filter((id) => !stageExists(id)).map((id) => `stage ${id} no longer exists`),
  ];
  const withoutPipelines = namesPipelines ? ['Pipelines is not switched on for the account'] : [];
  return [
    ...named.actions
      .filter((action) => !known.actions.includes(action))
      .map((action) => `action ${action} is not switched on`),
    ...named.teammates
      .filter((email) => !known.teammates.has(email))
      .map((email) => `teammate ${email} is no longer active`),
    ...(known.hasPipelines ? gone : withoutPipelines),
    ...named.collections.filter((id) => !known.collections.has(id)).map((id) => `collection ${id} no longer exists`),
  ];
}
