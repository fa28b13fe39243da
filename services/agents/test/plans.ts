import { insertMissingContacts } from '@customer-platform/contact-copy';
import type { AgentAction, Plan, PlanStatus } from '@customer-platform/contracts/agents';
import type { Contact } from '@customer-platform/contracts/cdp';
import type { Deal, Pipeline } from '@customer-platform/contracts/crm';
import { type Database, inTransaction } from '@customer-platform/service-kit';
import { type Platform, type RawResponse, type TestAccount, waitFor } from '@customer-platform/testkit';
import { startNext } from '../src/plans/plan-state.ts';
import { insertSteps, type NewStep } from '../src/plans/plans.sql.ts';
import { addAgents } from './agents.ts';

/** Default step of each action. */
const something: Record<AgentAction, Pick<NewStep, 'params' | 'detail' | 'editable'>> = {
  send_message: {
    params: { channel: 'sms', body: 'Hello', channel_locked: false },
    detail: 'sms',
    editable: ['body', 'channel'],
  },
  add_note: { params: { body: 'Asked for tea' }, detail: null, editable: ['body'] },
  follow_up: { params: { goal: 'Ask again' }, detail: 'Ask again', editable: ['goal'] },
  move_stage: { params: { stage: 1 }, detail: 'New', editable: ['stage'] },
};

/** Options of a new plan. By default it has one message and awaits approval as a whole. */
export interface PlanOptions {
  mode?: 'plan' | 'step' | 'none';
  status?: PlanStatus;
  steps?: (AgentAction | (Partial<NewStep> & { action: AgentAction }))[];
  /** Seconds until it expires. */
  lapsesIn?: number;
  /** Other columns. */
  more?: Record<string, unknown>;
}

/** A sandbox account with an agent, a contact and its open deal. Its client validates every response against the contract. */
export interface Agency {
  account: TestAccount;
  /** Id of the sandbox account. */
  id: string;
  client: TestAccount['client'];
  agent: number;
  contact: Contact;
  deal: Deal;
  pipeline: Pipeline;
  /** Stage ids in order: New, Qualified, Proposal. */
  stages: number[];
  /** Inserts a plan as the planner does. */
  plan(options?: PlanOptions): Promise<Plan>;
  get(id: number): Promise<Plan>;
  /** Decides a plan, or one of its steps. Returns the response, even if it is an error. */
  decide(plan: number, decision: string, body?: object): Promise<RawResponse>;
  decideStep(plan: number, step: number, decision: string, body?: object): Promise<RawResponse>;
  /** Updates a step. Returns the response, even if it is an error. */
  change(plan: Plan, order: number, body: object): Promise<RawResponse>;
  /** Waits until a plan has a status. Returns it. */
  until(id: number, status: PlanStatus): Promise<Plan>;
  /** Waits for an event of the kind `last`. Returns the kinds of the account's plan events, oldest first. */
  eventsUntil(last: string): Promise<string[]>;
}

export async function openAgency(platform: Platform, sql: Database): Promise<Agency> {
  const account = await platform.account();
  const { testClient: client, sandboxId: id, testKey: key } = account;
  const contact = await client.cdp.contacts.create({ body: { name: 'Carla Client', phone: '+4930901801' } });
  const pipeline = (await client.crm.pipelines.list()).data[0]!;
  const deal = await client.crm.deals.create({ body: { title: 'Tea', contact: contact.id, pipeline: pipeline.id } });
  await inTransaction(sql, (tx) =>
    insertMissingContacts(tx, [{ ...contact, phone: contact.phone ?? '', account_id: id }]),
  );
  const [agent] = (await addAgents(sql, id, 1)) as [number];
  const path = (plan: number) => `/v1/agents/plans/${plan}`;
  const get = (plan_id: number) => client.agents.plans.get({ params: { plan_id } });
  const post = (to: string, body: object) => account.request('POST', to, { body, key });
  const agency = { account, id, client, agent, contact, deal, pipeline, stages: pipeline.stages.map((one) => one.id) };
  return {
    ...agency,
    get,
    plan: async (options = {}) => get(await insertPlan(platform, sql, agency, options)),
    decide: (plan, decision, body = {}) => post(`${path(plan)}/${decision}`, body),
    decideStep: (plan, step, decision, body = {}) => post(`${path(plan)}/steps/${step}/${decision}`, body),
    change: (plan, order, body) =>
      account.request('PATCH', `${path(plan.id)}/steps/${plan.steps[order - 1]!.id}`, { body, key }),
    until: (plan, status) =>
      waitFor(`the plan to be ${status}`, async () => {
        const found = await get(plan);
        return found.status === status && found;
      }),
    async eventsUntil(last) {
      await platform.event(id, last);
      const kinds = platform.events(id).map(({ type }) => type as string);
      return kinds.filter((kind) => kind.startsWith('plan.'));
    },
  };
}

async function insertPlan(
  platform: Platform,
  sql: Database,
  agency: Pick<Agency, 'id' | 'agent' | 'contact' | 'deal' | 'pipeline'>,
  { mode = 'plan', status, steps = ['send_message'], lapsesIn = 600, more = {} }: PlanOptions,
): Promise<number> {
  const { id: accountId, agent, contact, deal, pipeline } = agency;
  const now = platform.clock.now();
  const starts = status ?? (mode === 'none' ? 'running' : 'awaiting_approval');
  const lapses = starts === 'awaiting_approval' ? new Date(now.getTime() + lapsesIn * 1_000) : null;
  const row = {
    account_id: accountId,
    agent_id: agent,
    workflow_version: 1,
    contact_id: contact.id,
    contact_number: contact.number,
    deal_id: deal.id,
    deal_number: 1,
    deal_title: deal.title,
    deal_stage: deal.stage.name,
    pipeline_id: pipeline.id,
    pipeline_name: pipeline.name,
    trigger: 'inbound_message',
    trigger_text: 'Have you got tea?',
    trigger_channel: 'sms',
    goal: 'Sell tea',
    rationale: 'It was asked for',
    status: starts,
    approval_mode: mode,
    approval_reasons: ['Plans need approval'],
    created_at: now,
    expires_at: lapses,
    lapses_at: lapses,
    tokens: 12,
    model: 'simulated',
    ...more,
  };
  return await inTransaction(sql, async (tx) => {
    const [made] = await tx<{ id: number }[]>`insert into plans ${tx(row)} returning id`;
    const planned = steps.map((step): NewStep => {
      const given = typeof step === 'string' ? { action: step } : step;
      return {
        title: 'A step',
        reason: 'It helps',
        requires_approval: mode === 'step',
        delay_minutes: null,
        run_at: now,
        due_at: null,
        status: mode === 'step' ? ('awaiting_approval' as const) : ('pending' as const),
        ...something[given.action],
        ...given,
      };
    });
    const { planning_due_at = null } = more as { planning_due_at?: Date };
    startNext({ status: starts, planning_due_at, steps: planned }, now);
    await insertSteps(tx, accountId, made!.id, planned);
    return made!.id;
  });
}

/** The response expected for a conflict with the resource's state. */
export const crossing = { status: 409, body: { error: { code: 'invalid_state' } } };

/** Returns the statuses of a plan's steps, in order. */
export const statuses = (plan: Plan) => plan.steps.map(({ status }) => status);
