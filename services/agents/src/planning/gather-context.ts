import { type Contact, getContactProfile } from '@customer-platform/contracts/cdp';
import type { AccountContext } from '@customer-platform/contracts/core';
import { firstCodePoints } from '@customer-platform/contracts/core';
import { findOpenDeal, findStages, type NumberedDeal } from '@customer-platform/contracts/crm';
import { getConversation } from '@customer-platform/contracts/messaging';
import { type Ask, askAs, type Sql, searchPermits } from '@customer-platform/service-kit';
import { type AgentRow, selectAgent } from '../agents/agents.sql.ts';
import { searchPassages } from '../knowledge/search.ts';
import { reachableChannels } from '../plans/reachable-channels.ts';
import { selectBlocks } from '../workflow/workflow.sql.ts';
import { type Claim, selectAgentOfPipeline, selectWorkedPipelines } from './planning.sql.ts';
import { planningDocument } from './planning-document.ts';
import type { PlanningTools } from './planning-tools.ts';
import type { PlanningDocument } from './prompt.ts';

/** The input for making a plan. */
export interface PlanContext {
  agent: AgentRow;
  contact: Contact;
  deal: NumberedDeal | null;
  document: PlanningDocument;
}

/** Maximum messages of the conversation in the document. */
const conversationLength = 20;
const maxPassages = 8;
/** Maximum length of the trigger's text used as the search query, in code points. */
const searchedLength = 500;

/**
 * Gathers the input of a plan from other modules and the search, outside any transaction. Returns 'nobody' if no live agent handles an
 * inbound message, or a failure if its agent cannot make the plan. Throws service_unavailable, or rate_limited if the search is busy.
 */
export async function gatherContext(
  claim: Claim,
  account: AccountContext,
  tools: PlanningTools,
): Promise<PlanContext | 'nobody' | { agentId: number; failure: string }> {
  const { sql, bus, clock } = tools;
  const ask = askAs(bus, claim.account_id);
  const now = clock();
  const found = await findAgent(claim, account, sql, ask);
  if (!found) return 'nobody';
  const { agent, deal } = found;
  if (agent.status !== 'live') return { agentId: agent.id, failure: 'The agent is not live' };
  const { contact } = await ask(getContactProfile, { contact: claim.contact_id });
  if (!contact) return { agentId: agent.id, failure: 'The contact no longer exists' };
  const query = firstCodePoints(claim.trigger_text, searchedLength);
  const [conversation, passages, staged, blocks] = await Promise.all([
    ask(getConversation, { contact: claim.contact_id, limit: conversationLength }),
    query.trim() === ''
      ? []
      : searchPermits.use(account.owner, 'the search of knowledge', () =>
          searchPassages(sql, account, { query, collections: agent.collections, limit: maxPassages }),
        ),
    deal ? ask(findStages, { pipelines: [deal.pipeline.id], stages: [] }) : undefined,
    agent.live_version === null ? [] : selectBlocks(sql, account.id, agent.id, agent.live_version),
  ]);
  const { messages } = conversation;
  const channels = reachableChannels(account, contact, conversation);
  const stages = staged?.pipelines[0]?.stages ?? [];
  const facts = { claim, account, agent, contact, deal, messages, passages, channels, stages, now };
  return { agent, contact, deal, document: planningDocument({ ...facts, blocks: blocks ?? [] }) };
}

/**
 * Returns the plan's agent and the contact's newest open deal in its pipelines, if any. A plan without an agent gets the live agent with
 * the lowest id that works the deal's pipeline. Returns undefined if no agent is found.
 */
async function findAgent({ id, account_id, agent_id, contact_id }: Claim, account: AccountContext, sql: Sql, ask: Ask) {
  const given = agent_id === null ? undefined : await selectAgent(sql, account_id, agent_id);
  if (agent_id !== null && !given) throw new Error(`plan ${id} refers to an agent that does not exist`);
  const pipelines = given
    ? given.pipelines.map((pipeline) => pipeline.id)
    : await selectWorkedPipelines(sql, account_id);
  const canHaveDeal = pipelines.length > 0 && account.modules.includes('crm');
  const { deal } = canHaveDeal ? await ask(findOpenDeal, { contact: contact_id, pipelines }) : { deal: null };
  if (given) return { agent: given, deal };
  if (!deal) return undefined;
  const chosen = await selectAgentOfPipeline(sql, account_id, deal.pipeline.id);
  const agent = chosen === undefined ? undefined : await selectAgent(sql, account_id, chosen);
  return agent ? { agent, deal } : undefined;
}
