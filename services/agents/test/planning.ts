import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { Plan } from '@customer-platform/contracts/agents';
import type { Contact } from '@customer-platform/contracts/cdp';
import type { Deal, Pipeline } from '@customer-platform/contracts/crm';
import { newSigningSecret, signatureHeader, signingKeyOf } from '@customer-platform/outbound';
import {
  type Platform,
  type RawResponse,
  rawRequest,
  startReceiver,
  type TestAccount,
  waitFor,
} from '@customer-platform/testkit';
import type { PlanningDocument } from '../src/planning/prompt.ts';
import { readDocument } from '../src/planning/simulated-ai.ts';

/** A request that the fake AI provider received. */
export interface AiRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: tests inspect any part of the body
  body: any;
  /** The body as it was sent. */
  text: string;
  document: PlanningDocument | undefined;
}

export type AiReply = (request: AiRequest, response: ServerResponse) => void;

/** A fake OpenAI-compatible provider on loopback, scripted by tests. It also accepts messages at POST /messages. */
export interface FakeAi {
  url: string;
  /** Completion requests received, oldest first. */
  requests: AiRequest[];
  /** Replies to the next requests, one each. After them, `otherwise` applies. */
  replies: AiReply[];
  otherwise: AiReply;
  stop(): Promise<void>;
}

export async function startFakeAi(): Promise<FakeAi> {
  const receiver = await startReceiver();
  const ai: FakeAi = { url: receiver.url, requests: [], replies: [], otherwise: says(planOf()), stop: receiver.stop };
  receiver.respond = ({ method, path, headers, body: text }, response) => {
    const body = JSON.parse(text);
    const got = { method, path, headers, body, text, document: readDocument(body.messages ?? []) };
    if (path === '/messages') return replies(200, { id: randomUUID() })(got, response);
    ai.requests.push(got);
    return (ai.replies.shift() ?? ai.otherwise)(got, response);
  };
  return ai;
}

/** Usage that the fake AI reports for every completion. */
export const billed = { prompt_tokens: 700, completion_tokens: 77, total_tokens: 777 };

/** Returns a reply with a status and a body. */
export const replies =
  (status: number, body: unknown, headers: Record<string, string> = {}): AiReply =>
  (_request, response) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
  };

/** Returns a reply with a completion of this content. A value that is not a string is sent as JSON. */
export const says = (content: unknown, usage: unknown = billed, finish_reason = 'stop'): AiReply => {
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  const choices = [{ index: 0, message: { role: 'assistant', content: text }, finish_reason }];
  return replies(200, { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, usage });
};

/** Returns a plan as an AI returns it, by default with one message. */
export const planOf = (...steps: object[]) => ({
  goal: 'Answer the question',
  rationale: 'They asked.',
  approval_reasons: ['Look at the wording'],
  steps: steps.length > 0 ? steps : [message('We open at 9.')],
});

export const message = (body: string, params: object = {}, more: object = {}) => {
  return {
    action: 'send_message',
    title: 'Answer',
    reason: 'Asked',
    delay_minutes: 0,
    params: { body, ...params },
    ...more,
  };
};

/** An account with a live agent that works the pipeline in which its one contact has an open deal. */
export interface Desk {
  account: TestAccount;
  agentId: number;
  contact: Contact;
  pipeline: Pipeline;
  deal: Deal;
  /** Sends a WhatsApp message from the contact. `more` has further fields of the webhook's body. */
  write(text: string, from?: string, more?: object): Promise<RawResponse>;
  /** Requests a plan for the contact. */
  ask(goal?: string): Promise<Plan>;
  plans(): Promise<Plan[]>;
  /** Waits until the newest plan matches, by default until it is made or has failed. Returns it. */
  made(matches?: (plan: Plan) => boolean): Promise<Plan>;
}

export const apiKey = 'sk-QmFzZTY0LTkx-8271';

let numbers = 0;

export async function openDesk(
  platform: Platform,
  ai: FakeAi,
  { agent = {}, settings = {} }: { agent?: object; settings?: object } = {},
): Promise<Desk> {
  const account = await platform.account();
  const { client } = account;
  const secret = newSigningSecret();
  const channel = { provider: 'http' as const, settings: { url: `${ai.url}/messages`, secret } };
  const { hook_url } = await client.messages.channels.put({ params: { channel: 'whatsapp' }, body: channel });
  await client.messages.channels.put({ params: { channel: 'sms' }, body: channel });
  const provider = { base_url: `${ai.url}/v1`, api_key: apiKey, model: 'gpt-test', ...settings };
  await client.agents.settings.update({ body: provider });
  const phone = `+49301${String(++numbers).padStart(7, '0')}`;
  const contact = await client.cdp.contacts.create({ body: { name: 'Casey Customer', phone } });
  const pipeline = (await client.crm.pipelines.list()).data[0]!;
  const deal = await client.crm.deals.create({ body: { title: 'Tea for the office', contact: contact.id } });
  const agentId = await makeLiveAgent(client, { pipelines: [pipeline.id], ...agent });
  const plans = async () => (await client.agents.plans.list({ query: {} })).data;
  return {
    account,
    agentId,
    contact,
    pipeline,
    deal,
    plans,
    write(text, from = phone, more = {}) {
      const id = randomUUID();
      const at = platform.clock.now().toISOString();
      const rawBody = JSON.stringify({ type: 'inbound', from, body: text, id, at, ...more });
      const timestamp = Math.floor(platform.clock.now().getTime() / 1_000);
      const signature = signatureHeader(id, timestamp, rawBody, [signingKeyOf(secret)]);
      const headers = { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signature };
      return rawRequest(platform.gatewayUrl, 'POST', new URL(hook_url).pathname, { rawBody, headers });
    },
    ask: (goal) =>
      client.agents.plans.request({
        params: { agent_id: agentId },
        body: { contact: contact.id, ...(goal ? { goal } : {}) },
      }),
    async made(matches = isMade) {
      let last: Plan | undefined;
      const found = async () => {
        last = (await plans())[0];
        return last && matches(last) ? last : undefined;
      };
      return await waitFor('a plan', found).catch((cause) => {
        throw new Error(`the plan stayed ${JSON.stringify(last)}`, { cause });
      });
    },
  };
}

const isMade = ({ status, steps }: Plan) => status !== 'running' || steps.length > 0;

/** Creates a live agent. Returns its id. */
export async function makeLiveAgent(client: TestAccount['client'], agent: object = {}): Promise<number> {
  const { id } = await client.agents.create({ body: { name: 'Robin', role: 'Answers what customers ask.', ...agent } });
  const params = { agent_id: id };
  const blocks = [{ id: 'answer', kind: 'ai' as const, params: { goal: 'Answer what was asked' } }];
  await client.agents.workflow.draft.put({ params, body: { blocks } });
  await client.agents.workflow.publish({ params, body: {} });
  await client.agents.goLive({ params });
  return id;
}

/** Returns the document of a customer with a deal who wrote by WhatsApp. `more` overrides its fields. */
export function documentOf(more: Partial<PlanningDocument> = {}): PlanningDocument {
  return {
    now: '2026-11-20T09:00:00+01:00',
    business: { name: 'Tea House', timezone: 'Europe/Berlin', country: 'DE', language: 'en' },
    agent: {
      name: 'Robin',
      role: 'Answers what customers ask.',
      actions: ['send_message', 'add_note', 'follow_up', 'move_stage'],
      workflow: [],
      workflow_blocks_left_out: 0,
    },
    trigger: { kind: 'inbound_message', channel: 'whatsapp', text: 'When do you open?' },
    goal: null,
    contact: { name: 'Casey', channels: ['whatsapp', 'sms'], tags: [], fields: {} },
    deal: {
      title: 'Tea for the office',
      stage: { id: 11, name: 'New' },
      pipeline: {
        id: 1,
        name: 'Sales',
        stages: [
          { id: 11, name: 'New' },
          { id: 12, name: 'Won over' },
        ],
      },
      value_minor: 12_000,
      currency: 'EUR',
      notes: '',
    },
    conversation: [],
    passages: [],
    ...more,
  };
}
