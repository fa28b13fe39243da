import type { Agent } from '@customer-platform/contracts/agents';
import type { Pipeline } from '@customer-platform/contracts/crm';
import type { Database } from '@customer-platform/service-kit';
import type { Platform, RawResponse, TestAccount } from '@customer-platform/testkit';
import { expect } from '@jest/globals';

/** An account with a pipeline, and helpers for its agents. */
export interface Crew {
  account: TestAccount;
  /** Sales, the default pipeline. */
  pipeline: Pipeline;
  /** Requests a new agent. Returns the response, even if it is an error. */
  post(body: unknown): Promise<RawResponse>;
  /** Creates an agent named Ada who sells. */
  agent(more?: Record<string, unknown>): Promise<Agent>;
  get(id: number): Promise<Agent>;
  patch(id: number, body: unknown): Promise<RawResponse>;
  /** POSTs to an agent's path. Returns the response, even if it is an error. */
  act(id: number, action: string, body?: unknown): Promise<RawResponse>;
  remove(id: number): Promise<RawResponse>;
  putDraft(id: number, blocks: unknown): Promise<RawResponse>;
  /** Creates a live agent. */
  liveAgent(more?: Record<string, unknown>): Promise<Agent>;
}

export const blocks = [
  { id: 'think', kind: 'ai' },
  { id: 'answer', kind: 'action', action: 'send_message' },
];

export async function openCrew(platform: Platform, settings: Record<string, unknown> = {}): Promise<Crew> {
  const account = await platform.account(settings);
  const { data } = await account.client.crm.pipelines.list();
  const request = (method: string, path: string, body?: unknown) =>
    account.request(method, `/v1/agents${path}`, body === undefined ? {} : { body });
  const crew: Crew = {
    account,
    pipeline: data[0]!,
    post: (body) => request('POST', '', body),
    agent: (more = {}) => account.client.agents.create({ body: { name: 'Ada', role: 'Sells', ...more } }),
    get: (id) => account.client.agents.get({ params: { agent_id: id } }),
    patch: (id, body) => request('PATCH', `/${id}`, body),
    act: (id, action, body = {}) => request('POST', `/${id}/${action}`, body),
    remove: (id) => request('DELETE', `/${id}`),
    putDraft: (id, given) => request('PUT', `/${id}/workflow/draft`, { blocks: given }),
    async liveAgent(more) {
      const { id } = await crew.agent(more);
      await crew.putDraft(id, blocks);
      await account.client.agents.workflow.publish({ params: { agent_id: id }, body: {} });
      return await account.client.agents.goLive({ params: { agent_id: id }, body: {} });
    },
  };
  return crew;
}

/** Returns the response expected for an invalid field. */
export const invalid = (field: string, message = /./) => ({
  status: 400,
  body: { error: { code: 'invalid_request', field, message: expect.stringMatching(message) } },
});
export const conflict = (message: RegExp) => ({
  status: 409,
  body: { error: { code: 'invalid_state', message: expect.stringMatching(message) } },
});
export const missing = { status: 404, body: { error: { code: 'not_found' } } };

/** Inserts agents that were created at an instant. Returns their ids, ascending. */
export async function addAgents(
  database: Database,
  accountId: string,
  count: number,
  { status = 'live', at = new Date() }: { status?: string; at?: Date } = {},
): Promise<number[]> {
  const rows = await database<{ id: number }[]>`
    insert into agents (account_id, name, role, status, model, approval_mode, approval_timeout_seconds, actions, collections,
      was_live, created_at)
    select ${accountId}, 'Ada', 'Sells tea', ${status}, '', 'plan', 600, '{send_message,add_note,follow_up,move_stage}', '{}', true, ${at}
    from generate_series(1, ${count}::int) returning id`;
  return rows.map(({ id }) => id).sort((one, other) => one - other);
}

/** Inserts an open plan of an agent. Returns its id. */
export async function addPlan(
  database: Database,
  accountId: string,
  agentId: number,
  more: { version?: number; status?: string; at?: Date; pipeline?: { id: number; name: string } } = {},
): Promise<number> {
  const { version = 1, status = 'running', at = new Date(), pipeline } = more;
  const [row] = await database<{ id: number }[]>`
    insert into plans (account_id, agent_id, workflow_version, contact_id, trigger, trigger_text, goal, status, created_at,
      pipeline_id, pipeline_name)
    values (${accountId}, ${agentId}, ${version}, uuidv7(), 'manual', 'x', 'x', ${status}, ${at},
      ${pipeline?.id ?? null}, ${pipeline?.name ?? null})
    returning id`;
  return row!.id;
}
