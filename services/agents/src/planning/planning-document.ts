import type { WorkflowBlock } from '@customer-platform/contracts/agents';
import type { Contact } from '@customer-platform/contracts/cdp';
import type { AccountContext } from '@customer-platform/contracts/core';
import type { NumberedDeal } from '@customer-platform/contracts/crm';
import type { Channel } from '@customer-platform/contracts/messaging';
import { formatInstant } from '@customer-platform/service-kit';
import type { AgentRow } from '../agents/agents.sql.ts';
import type { FoundPassage } from '../knowledge/search.ts';
import type { Claim } from './planning.sql.ts';
import type { PlanningDocument } from './prompt.ts';

/** Facts that a planning document is made from. */
export interface PlanningFacts {
  claim: Claim;
  account: AccountContext;
  agent: AgentRow;
  blocks: readonly WorkflowBlock[];
  contact: Contact;
  /** Channels that reach the contact. */
  channels: Channel[];
  deal: NumberedDeal | null;
  /** Stages of the deal's pipeline; empty if the pipeline has been deleted since. */
  stages: readonly { id: number; name: string }[];
  messages: readonly { id: string; direction: 'in' | 'out'; channel: Channel; at: string; body: string }[];
  passages: readonly FoundPassage[];
  now: Date;
}

/** Maximum lengths of texts in the document, in UTF-16 units. */
const maxLengths = { trigger: 2_000, message: 1_000, passage: 2_000, notes: 2_000, field: 200, workflow: 30_000 };
/** Maximum number of a contact's tags, and of its fields, in the document. */
const maxTagsOrFields = 30;

/** Returns the document from which the AI plans. */
export function planningDocument(facts: PlanningFacts): PlanningDocument {
  const { claim, account, agent, contact, channels, messages, passages } = facts;
  const { name, timezone, country, language } = account;
  return {
    now: formatInstant(facts.now, timezone),
    business: { name, timezone, country, language },
    agent: documentAgent(agent, facts.blocks),
    trigger: {
      kind: claim.trigger,
      channel: claim.trigger_channel,
      text: beginning(claim.trigger_text, maxLengths.trigger),
    },
    goal: claim.goal === '' ? null : claim.goal,
    contact: documentContact(contact, channels),
    deal: documentDeal(facts),
    conversation: messages
      .filter(({ id }) => id !== claim.trigger_id)
      .map(({ direction, channel, at, body }) => {
        const from = direction === 'in' ? ('contact' as const) : ('business' as const);
        return { from, channel, at, text: beginning(body, maxLengths.message) };
      }),
    passages: passages.map(({ source, heading_path, text, exact }) => {
      return { source, headings: heading_path, text: exact ? text : beginning(text, maxLengths.passage), exact };
    }),
  };
}

function documentAgent({ name, role, actions }: AgentRow, blocks: readonly WorkflowBlock[]): PlanningDocument['agent'] {
  const workflow = fitting(blocks, maxLengths.workflow);
  return { name, role, actions, workflow, workflow_blocks_left_out: blocks.length - workflow.length };
}

/** Returns the contact without its phone and email, which planning does not need. */
function documentContact({ name, tags, fields }: Contact, channels: Channel[]): PlanningDocument['contact'] {
  const shownFields = Object.entries(fields)
    .slice(0, maxTagsOrFields)
    .map(([key, value]) => [key, typeof value === 'string' ? beginning(value, maxLengths.field) : value]);
  return { name, channels, tags: tags.slice(0, maxTagsOrFields), fields: Object.fromEntries(shownFields) };
}

/** Returns the deal with its pipeline's stages. If the pipeline was deleted between the two requests, has only the deal's stage. */
function documentDeal({ deal, stages }: PlanningFacts): PlanningDocument['deal'] {
  if (!deal) return null;
  const { title, stage, value_minor, currency, notes } = deal;
  const shownStages = stages.map(({ id, name }) => ({ id, name }));
  const pipeline = { ...deal.pipeline, stages: shownStages.length === 0 ? [stage] : shownStages };
  return { title, stage, pipeline, value_minor, currency, notes: beginning(notes, maxLengths.notes) };
}

/** Returns the first items that fit into `length` characters of JSON. */
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
