import * as contract from '@customer-platform/contracts/agents';
import { ApiError } from '@customer-platform/contracts/core';
import { findStages } from '@customer-platform/contracts/crm';
import { type Ask, dayOf, type HandlerCall, instantOf } from '@customer-platform/service-kit';
import { type AgentRow, selectAgentsFor } from '../agents/agents.sql.ts';
import { implement } from '../implement.ts';
import { selectSettings } from '../settings/settings.sql.ts';
import { dayBefore } from './day.ts';
import { countPlans, selectNamesInPlans, selectUsage, type Usage } from './usage.sql.ts';
import { usageReport } from './usage-report.ts';

/** Reports agents that are not archived and those with activity, in a fixed number of statements. */
export const getAgentUsage = implement(contract.getAgentUsage, {
  async handle(call) {
    const { account, tx, query, now } = call;
    const today = dayOf(now, account.timezone);
    const days = Array.from({ length: query.days }, (_, index) => dayBefore(today, query.days - 1 - index));
    const from = days[0]!;
    const [settings, usage, plans] = await Promise.all([
      selectSettings(tx, account.id),
      selectUsage(tx, account.id, from, today),
      countPlans(tx, account.id, instantOf(from, account.timezone)),
    ]);
    const active = new Set([...usage.purposes.map(({ agent_id }) => agent_id), ...plans.keys()]);
    const agents = await selectAgentsFor(tx, account.id, [...active]);
    // A plan may have been requested on the day before its call.
    const since = instantOf(dayBefore(from, 1), account.timezone);
    const pipelines = await listedPipelines(call, agents, usage, since);
    return usageReport({ days, usage, plans, agents, pipelines, settings });
  },
});

type UsageCall = Pick<HandlerCall<typeof contract.getAgentUsage, unknown, unknown>, 'account' | 'tx' | 'ask'>;

/** Returns the pipelines that agents work and those that tokens were used for, by id, with their last known names. */
async function listedPipelines(call: UsageCall, agents: readonly AgentRow[], usage: Usage, since: Date) {
  const { account, tx, ask } = call;
  const kept = new Map(agents.flatMap((agent) => agent.pipelines).map(({ id, name }) => [id, name]));
  const used = usage.pipelines.map(({ pipeline_id }) => pipeline_id);
  const ids = [...new Set([...kept.keys(), ...used])].sort((one, other) => one - other);
  const current = account.modules.includes('crm') ? await currentNames(ids, ask) : new Map<number, string>();
  const unnamed = ids.filter((id) => !current.has(id) && !kept.has(id));
  const planned = await selectNamesInPlans(tx, account.id, unnamed, since);
  return ids.map((id) => ({ id, name: current.get(id) ?? kept.get(id) ?? planned.get(id) ?? `Pipeline ${id}` }));
}

/** Returns the current names of existing pipelines; none while Pipelines is unavailable. */
async function currentNames(ids: number[], ask: Ask): Promise<Map<number, string>> {
  if (ids.length === 0) return new Map();
  try {
    const { pipelines } = await ask(findStages, { pipelines: ids, stages: [] });
    return new Map(pipelines.map(({ id, name }) => [id, name]));
  } catch (error) {
    if (error instanceof ApiError && error.code === 'service_unavailable') return new Map();
    throw error;
  }
}
