import { type Contact, getContactProfile } from '@customer-platform/contracts/cdp';
import type { AccountContext } from '@customer-platform/contracts/core';
import { firstCodePoints } from '@customer-platform/contracts/core';
import { findOpenDeal, findPlaces, type NumberedDeal } from '@customer-platform/contracts/crm';
import { type Channel, getConversation } from '@customer-platform/contracts/messaging';
import { type Ask, type Database, formatInstant } from '@customer-platform/service-kit';
import { type AgentRow, selectAgent } from '../agents/agents.sql.ts';
import { searchPassages } from '../knowledge/search.ts';
import { reachableChannels } from '../plans/reachable-channels.ts';
import { selectBlocks } from '../workflow/workflow.sql.ts';
import { type Claim, selectLiveAgents } from './planning.sql.ts';
import type { PlanningDocument } from './prompt.ts';

/** What a plan is made from. */
export interface Situation {
  agent: AgentRow;
  contact: Contact;
  deal: NumberedDeal | null;
  document: PlanningDocument;
}

/** What asks others; no transaction is open meanwhile. */
interface SituationTools {
  sql: Database;
  ask: Ask;
  now: Date;
}

const conversationLength = 20;
const maxPassages = 8;
const searchedLength = 500;
/** How much of each is told, in characters. */
const told = { trigger: 2_000, message: 1_000, passage: 2_000, notes: 2_000, field: 200, workflow: 30_000 };
const maxTold = 30;

/**
 * Learns all that a plan is made from. Answers 'nobody' where what a customer wrote is no live agent's to plan for, and why there can
 * be no plan where an agent was to make it. Throws service_unavailable where a module does not answer.
 */
export async function learnSituation(
  claim: Claim,
  account: AccountContext,
  tools: SituationTools,
): Promise<Situation | 'nobody' | { agentId: number; failure: string }> {
  const { sql, ask } = tools;
  const found =
    claim.agent_id === null ? await findAgent(claim, account, tools) : await givenAgent(claim, account, tools);
  if (!found) return 'nobody';
  const { agent, deal } = found;
  if (agent.status !== 'live') return { agentId: agent.id, failure: 'The agent is not live' };
  const { contact } = await ask(getContactProfile, { contact: claim.contact_id });
  if (!contact) return { agentId: agent.id, failure: 'The contact no longer exists' };
  const query = firstCodePoints(claim.trigger_text, searchedLength);
  const [conversation, passages, places, blocks] = await Promise.all([
    ask(getConversation, { contact: claim.contact_id, limit: conversationLength }),
    query.trim() === ''
      ? []
      : searchPassages(sql, account, { query, collections: agent.collections, limit: maxPassages }),
    deal ? ask(findPlaces, { pipelines: [deal.pipeline.id], stages: [] }) : undefined,
    agent.live_version === null ? [] : selectBlocks(sql, account.id, agent.id, agent.live_version),
  ]);
  const toldBlocks = fitting(blocks ?? [], told.workflow);
  const document: PlanningDocument = {
    now: formatInstant(tools.now, account.timezone),
    business: {
      name: account.name,
      timezone: account.timezone,
      country: account.country,
      language: account.language,
    },
    agent: {
      name: agent.name,
      role: agent.role,
      actions: agent.actions,
      workflow: toldBlocks,
      workflow_blocks_left_out: (blocks ?? []).length - toldBlocks.length,
    },
    trigger: {
      kind: claim.trigger,
      channel: claim.trigger_channel,
      text: beginning(claim.trigger_text, told.trigger),
    },
    goal: claim.goal === '' ? null : claim.goal,
    contact: tellContact(contact, reachableChannels(account, contact, conversation.channels)),
    deal: deal && {
      title: deal.title,
      stage: deal.stage,
      pipeline: { ...deal.pipeline, stages: stagesOf(places?.pipelines[0], deal) },
      value_minor: deal.value_minor,
      currency: deal.currency,
      notes: beginning(deal.notes, told.notes),
    },
    conversation: conversation.messages
      .filter(({ id }) => id !== claim.trigger_id)
      .map(({ direction, channel, at, body }) => {
        const from = direction === 'in' ? ('contact' as const) : ('business' as const);
        return { from, channel, at, text: beginning(body, told.message) };
      }),
    passages: passages.map(({ source, heading_path, text, exact }) => {
      return { source, headings: heading_path, text: exact ? text : beginning(text, told.passage), exact };
    }),
  };
  return { agent, contact, deal, document };
}

/** The live agent with the lowest id that works the pipeline of the contact's newest open deal. */
async function findAgent({ account_id, contact_id }: Claim, account: AccountContext, { sql, ask }: SituationTools) {
  const agents = await selectLiveAgents(sql, account_id);
  const pipelines = [...new Set(agents.flatMap((agent) => agent.pipelines))];
  if (pipelines.length === 0 || !account.modules.includes('crm')) return undefined;
  const { deal } = await ask(findOpenDeal, { contact: contact_id, pipelines });
  const chosen = deal && agents.find((agent) => agent.pipelines.includes(deal.pipeline.id));
  const agent = chosen && (await selectAgent(sql, account_id, chosen.id));
  return agent ? { agent, deal } : undefined;
}

/** The agent that a plan was asked of, with the contact's newest open deal in its pipelines, if there is one. */
async function givenAgent(claim: Claim, account: AccountContext, { sql, ask }: SituationTools) {
  const agent = await selectAgent(sql, claim.account_id, claim.agent_id!);
  if (!agent) throw new Error(`plan ${claim.id} names an agent that is not there`);
  const pipelines = agent.pipelines.map(({ id }) => id);
  if (pipelines.length === 0 || !account.modules.includes('crm')) return { agent, deal: null };
  const { deal } = await ask(findOpenDeal, { contact: claim.contact_id, pipelines });
  return { agent, deal };
}

/** A pipeline may be changed between two questions: the deal's stage is there in any case. */
function stagesOf(pipeline: { stages: { id: number; name: string }[] } | undefined, { stage }: NumberedDeal) {
  const stages = (pipeline?.stages ?? []).map(({ id, name }) => ({ id, name }));
  return stages.length === 0 ? [stage] : stages;
}

/** Not its phone and email: who plans need not know them. */
function tellContact({ name, tags, fields }: Contact, channels: Channel[]): PlanningDocument['contact'] {
  const toldFields = Object.entries(fields)
    .slice(0, maxTold)
    .map(([key, value]) => [key, typeof value === 'string' ? beginning(value, told.field) : value]);
  return { name, channels, tags: tags.slice(0, maxTold), fields: Object.fromEntries(toldFields) };
}

/** As many from the first on as take at most `length` characters as JSON. */
function fitting<Item>(items: readonly Item[], length: number): Item[] {
  let left = length;
  const end = items.findIndex((item) => {
    left -= JSON.stringify(item).length;
    return left < 0;
  });
  return end === -1 ? [...items] : items.slice(0, end);
}

function beginning(text: string, length: number): string {
  return text.length <= length ? text : `${[...text.slice(0, length)].slice(0, -1).join('')}…`;
}
