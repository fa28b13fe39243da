import { lena, lenaSummary } from '../cdp/examples.ts';
import type { EventExamplesOf, ExamplesOf } from '../core/examples.ts';
import { onePage } from '../core/examples.ts';
import type { Agent, AgentSettings } from './agents.ts';
import type * as events from './events.ts';
import type { KnowledgeSource } from './knowledge.ts';
import type * as knowledgeOperations from './knowledge-operations.ts';
import type * as operations from './operations.ts';
import type * as planOperations from './plan-operations.ts';
import type { Plan, PlanStep } from './plans.ts';
import type { AgentUsage } from './usage.ts';
import type { WorkflowBlock, WorkflowVersion } from './workflow.ts';

const robin: Agent = {
  id: 1,
  name: 'Robin',
  role: 'Replies to customers of our hair salon, kindly and briefly.',
  status: 'live',
  model: 'gpt-5-mini',
  daily_limit: 200_000,
  approval_mode: 'plan',
  approval_timeout_seconds: 259_200,
  pipelines: [1],
  actions: ['send_message', 'add_note', 'follow_up', 'move_stage'],
  collections: [],
  live_version: 1,
  created_at: '2025-10-05T10:00:00+02:00',
};
const draft: Agent = { ...robin, status: 'draft', live_version: null };
const robinSummary = { id: robin.id, name: robin.name, role: robin.role };

const settings: AgentSettings = {
  provider: 'openai_compatible',
  base_url: 'https://ai.example.com/v1',
  api_key_set: true,
  model: 'gpt-5-mini',
  daily_budget: 1_000_000,
  pipeline_budgets: {},
  prices: { 'gpt-5-mini': { prompt: 0.25, completion: 2 } },
};

const usage: AgentUsage = {
  range_days: 7,
  totals: {
    tokens: 48_210,
    prompt_tokens: 44_900,
    completion_tokens: 3_310,
    calls: 31,
    plans: 29,
    estimated_cost_usd: 0.018,
  },
  days: [{ date: '2025-11-18', by_agent: { '1': 48_210 } }],
  agents: [
    {
      agent: robinSummary,
      model: 'gpt-5-mini',
      tokens_today: 6_120,
      daily_limit: 200_000,
      tokens: 48_210,
      calls: 31,
      plans: 29,
    },
  ],
  pipelines: [{ id: 1, name: 'Sales', tokens_today: 6_120, daily_budget: null, tokens: 48_210 }],
  models: [
    { provider: 'openai_compatible', model: 'gpt-5-mini', tokens: 48_210, calls: 31, estimated_cost_usd: 0.018 },
  ],
  uses: [{ agent: 'Robin', kind: 'plan', label: 'Plans', tokens: 48_210, calls: 31 }],
  account: { tokens_today: 6_120, daily_budget: 1_000_000 },
};

const blocks: WorkflowBlock[] = [
  { id: 'reply', kind: 'ai', params: { goal: 'Reply to what the customer asked.' } },
  { id: 'note', kind: 'action', action: 'add_note', params: {} },
];
const version: WorkflowVersion = {
  number: 1,
  note: 'First version',
  by: null,
  at: '2025-10-05T10:10:00+02:00',
  blocks: 2,
  ai_blocks: 1,
  live: true,
  running: 0,
};
const rolledBack: WorkflowVersion = { ...version, number: 3, note: '', at: '2025-11-18T10:30:00+01:00' };

const body = 'Yes. The conditioner that goes with your shampoo is 16.90 €. Shall we put one aside for you?';
const step: PlanStep = {
  id: 311,
  order: 1,
  action: 'send_message',
  title: 'Reply to Lena',
  body,
  detail: 'whatsapp',
  reason: 'She asked whether we sell the conditioner.',
  run_at: '2025-11-18T09:12:09+01:00',
  requires_approval: false,
  status: 'pending',
  result: null,
  editable: ['body'],
  params: { channel: 'whatsapp', body, channel_locked: true },
};
const plan: Plan = {
  id: 204,
  agent: robinSummary,
  scope: 'contact',
  campaign_id: null,
  contact: { id: lena.number, uuid: lena.id, name: lena.name, msisdn: lenaSummary.phone },
  deal: { id: 31, title: 'Styling for Lena’s wedding', stage: 'New' },
  pipeline: { id: 1, name: 'Sales' },
  trigger: 'inbound_message',
  trigger_excerpt: 'Do you also sell the conditioner?',
  goal: 'Tell Lena about the conditioner.',
  rationale: 'Our price list has the conditioner.',
  status: 'awaiting_approval',
  approval_mode: 'plan',
  approval_reasons: ['It names a price.'],
  created: '2025-11-18T09:12:04+01:00',
  expires_at: '2025-11-21T09:12:09+01:00',
  next_run_at: '2025-11-18T09:12:09+01:00',
  tokens: 1_580,
  model: 'gpt-5-mini',
  decided_by: null,
  decision_note: null,
  last_error: null,
  steps: [step],
  audience: null,
  story_id: null,
};

/** Returns the plan in another status, with its step in the matching status. */
const inStatus = (status: Plan['status'], stepStatus: PlanStep['status'], more: Partial<Plan> = {}): Plan => ({
  ...plan,
  status,
  next_run_at: status === 'running' ? plan.next_run_at : null,
  steps: [{ ...step, status: stepStatus }],
  ...more,
});
const note = 'The price is right.';
const approved = inStatus('running', 'pending', { decided_by: 'api', decision_note: note });
const rejected = inStatus('rejected', 'cancelled', { decided_by: 'api', decision_note: 'I will call her.' });
const requested: Plan = {
  ...plan,
  trigger: 'manual',
  trigger_excerpt: 'Invite Lena to a trial styling.',
  goal: 'Invite Lena to a trial styling.',
  rationale: '',
  status: 'running',
  approval_reasons: [],
  expires_at: null,
  next_run_at: null,
  tokens: 0,
  model: '',
  steps: [],
};
const edited: PlanStep = { ...step, body: 'Yes, for 16.90 €.', params: { ...step.params, body: 'Yes, for 16.90 €.' } };

const collection = { id: 2, name: 'Prices' };
const article: KnowledgeSource = {
  id: '019a9cc0-72c4-7e0c-9b18-192a3b4c5d70',
  kind: 'article',
  title: 'Prices of hair care',
  collection,
  status: 'ready',
  error: '',
  active: true,
  updated_at: '2025-10-05T10:20:03+02:00',
  body: '# Shampoo\n\nArgan shampoo, 250 ml: 18.90 €\n\n# Conditioner\n\nArgan conditioner, 250 ml: 16.90 €',
};
const processing: KnowledgeSource = { ...article, status: 'processing' };
const file: KnowledgeSource = {
  id: '019a9cc2-83d5-7f1d-8c29-2a3b4c5d6e80',
  kind: 'file',
  title: 'Opening hours',
  collection,
  status: 'processing',
  error: '',
  active: true,
  updated_at: '2025-10-05T10:25:00+02:00',
  file_type: 'txt',
  size_bytes: 72,
};

export const agentExamples: ExamplesOf<typeof operations & typeof knowledgeOperations & typeof planOperations> = {
  listAgents: { response: onePage(robin) },
  createAgent: {
    body: { name: robin.name, role: robin.role, daily_limit: 200_000, pipelines: [1] },
    response: draft,
  },
  getAgent: { response: robin },
  updateAgent: { body: { approval_mode: 'step' }, response: { ...robin, approval_mode: 'step' } },
  deleteAgent: { response: { outcome: 'archived' } },
  goLiveAgent: { response: robin },
  pauseAgent: { response: { ...robin, status: 'paused' } },
  getAgentSettings: { response: settings },
  updateAgentSettings: {
    body: {
      base_url: settings.base_url,
      api_key: 'sk-example',
      model: settings.model,
      daily_budget: 1_000_000,
      prices: settings.prices,
    },
    response: settings,
  },
  getAgentUsage: { response: usage },
  getWorkflowDraft: { response: { blocks, updated_at: '2025-10-05T10:05:00+02:00' } },
  putWorkflowDraft: { body: { blocks }, response: { blocks, updated_at: '2025-10-05T10:05:00+02:00' } },
  publishWorkflow: { body: { note: 'First version' }, response: version },
  listWorkflowVersions: { response: onePage(version) },
  getWorkflowVersion: { response: { ...version, definition: blocks } },
  rollBackWorkflow: { response: rolledBack },

  listPlans: { response: onePage(plan) },
  getPlan: { response: plan },
  requestPlan: { body: { contact: lena.id, goal: requested.goal }, response: requested },
  approvePlan: { body: { note }, response: approved },
  rejectPlan: { body: { note: 'I will call her.' }, response: rejected },
  cancelPlan: {
    body: { note: 'She has been here.' },
    response: inStatus('cancelled', 'cancelled', { decision_note: 'She has been here.' }),
  },
  approvePlanStep: { body: { note }, response: { ...approved, approval_mode: 'step' } },
  rejectPlanStep: {
    body: { note: 'I will call her.' },
    response: inStatus('rejected', 'skipped', { approval_mode: 'step', decision_note: 'I will call her.' }),
  },
  updatePlanStep: { body: { body: 'Yes, for 16.90 €.' }, response: { ...plan, steps: [edited] } },

  listSources: { response: onePage(article) },
  createSource: {
    body: { kind: 'article', title: article.title, body: article.body, collection: collection.id },
    response: processing,
  },
  getSource: { response: article },
  updateSource: { body: { active: false }, response: { ...article, active: false } },
  refreshSource: { response: processing },
  uploadFile: {
    body: {
      file: 'We are open from Tuesday to Saturday. On Thursdays you can come until 20:00.',
      title: 'Opening hours',
      collection: collection.id,
    },
    response: file,
  },
  listCollections: { response: onePage({ id: 1, name: 'General' }, collection) },
  createCollection: { body: { name: 'Prices' }, response: collection },
  searchKnowledge: {
    body: { query: 'How much is the conditioner?' },
    response: {
      data: [
        {
          text: 'Argan conditioner, 250 ml: 16.90 €',
          score: 0.82,
          heading_path: ['Conditioner'],
          source: { id: article.id, kind: 'article', title: article.title },
        },
      ],
    },
  },
};

export const agentEventExamples: EventExamplesOf<typeof events> = {
  knowledgeReady: { source: article, previous: { status: 'processing' } },
  knowledgeFailed: {
    source: { ...article, status: 'failed', error: 'The file has no text.' },
    previous: { status: 'processing' },
  },
  planAwaitingApproval: { plan, previous: { status: 'running' } },
  planApproved: { plan: approved, previous: { status: 'awaiting_approval' } },
  planRejected: { plan: rejected, previous: { status: 'awaiting_approval' } },
  planExpired: { plan: inStatus('expired', 'cancelled'), previous: { status: 'awaiting_approval' } },
  planCompleted: { plan: inStatus('completed', 'done'), previous: { status: 'running' } },
  planFailed: {
    plan: inStatus('failed', 'failed', { last_error: 'The message was refused by the provider.' }),
    previous: { status: 'running' },
  },
};
