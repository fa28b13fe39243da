import * as contract from '@customer-platform/contracts/agents';
import { type AccountContext, ApiError } from '@customer-platform/contracts/core';
import { findStages } from '@customer-platform/contracts/crm';
import { type Ask, dayOf, type HandlerCall, instantOf, type Sql, search } from '@customer-platform/service-kit';
import { type AgentRow, selectAgentsFor } from '../agents/agents.sql.ts';
import { implement } from '../implement.ts';
import { selectSettings } from '../settings/settings.sql.ts';
import { dayBefore } from './day.ts';
import { countPlans, selectNamesInPlans, selectUsage, type Usage } from './usage.sql.ts';
import { usageReport } from './usage-report.ts';

/** Maximum pipelines in a report. */
const maxPipelines = 1_000;

/** Reports agents that are not archived or have activity in the period. Uses a fixed number of statements. */
export const getAgentUsage = implement(contract.getAgentUsage, {
  async handle(call) {
    const { account, query, now } = call;
    const today = dayOf(now, account.timezone);
    const days = Array.from({ length: query.days }, (_, index) => dayBefore(today, query.days - 1 - index));
    const facts = await search(call, 'the usage report', (sql) => selectFacts(sql, account, days));
    return usageReport({ days, ...facts, pipelines: await listedPipelines(call, facts, days[0]!) });
  },
});

/** Reads the data of the report, except the pipelines' names. */
async function selectFacts(sql: Sql, { id, timezone }: AccountContext, days: readonly string[]) {
  const [from, today] = [days[0]!, days.at(-1)!];
  const [settings, usage, plans] = await Promise.all([
    selectSettings(sql, id),
    selectUsage(sql, id, from, today),
    countPlans(sql, id, instantOf(from, timezone)),
  ]);
  const active = new Set([...usage.purposes.map(({ agent_id }) => agent_id), ...plans.keys()]);
  return { settings, usage, plans, agents: await selectAgentsFor(sql, id, [...active]) };
}

type UsageCall = Pick<HandlerCall<typeof contract.getAgentUsage, unknown, unknown>, 'account' | 'prefetch'>;

/**
 * Returns the pipelines that agents work or that used tokens, ordered by id, with their last known names. If there are too many, keeps
 * those with the most tokens.
 */
async function listedPipelines(
  call: UsageCall,
  { agents, usage }: { agents: readonly AgentRow[]; usage: Usage },
  from: string,
) {
  const { account, prefetch } = call;
  const kept = new Map(agents.flatMap((agent) => agent.pipelines).map(({ id, name }) => [id, name]));
  const tokens = new Map(usage.pipelines.map((used) => [used.pipeline_id, used.tokens]));
  const byTokens = [...new Set([...tokens.keys(), ...kept.keys()])].sort(
    (one, other) => (tokens.get(other) ?? 0) - (tokens.get(one) ?? 0) || one - other,
  );
  const ids = byTokens.slice(0, maxPipelines).sort((one, other) => one - other);
  const hasNames = ids.length > 0 && account.modules.includes('crm');
  const current = hasNames ? prefetch(({ ask }) => currentNames(ids, ask)) : new Map<number, string>();
  const unnamed = ids.filter((id) => !current.has(id) && !kept.has(id));
  // A plan may be requested on the day before its AI call.
  const since = instantOf(dayBefore(from, 1), account.timezone);
  const planned =
    unnamed.length === 0
      ? new Map<number, string>()
      : await search(call, 'the usage report', (sql) => selectNamesInPlans(sql, account.id, unnamed, since));
  return ids.map((id) => ({ id, name: current.get(id) ?? kept.get(id) ?? planned.get(id) ?? `Pipeline ${id}` }));
}

/** Returns the current names of existing pipelines; none while Pipelines is unavailable. */
async function currentNames(ids: number[], ask: Ask): Promise<Map<number, string>> {
  try {
    const { pipelines } = await ask(findStages, { pipelines: ids, stages: [], namesOnly: true });
    return new Map(pipelines.map(({ id, name }) => [id, name]));
  } catch (error) {
    if (error instanceof ApiError && error.code === 'service_unavailable') return new Map();
    throw error;
  }
}
