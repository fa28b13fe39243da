import type { Client } from '@customer-platform/client';
import type { Plan } from '@customer-platform/contracts/agents';
import { type Platform, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type OwnAi, startOwnAi, tokensOfCall } from './own-ai.ts';
import { callHook, type OwnProvider, startOwnProvider } from './own-provider.ts';

/** A customer writes; an agent that has the information plans a reply; a member approves; the customer gets the reply. */
let platform: Platform;
let provider: OwnProvider;
let ai: OwnAi;
beforeAll(async () => {
  platform = await startPlatform({ services: ['agents', 'cdp', 'crm', 'messaging', 'webhooks'] });
  // Noon in Berlin: what counts by day must not see midnight.
  platform.clock.set(`${new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)}T11:00:00Z`);
  [provider, ai] = [await startOwnProvider(), await startOwnAi()];
}, 60_000);
afterAll(async () => {
  await platform.stop();
  await provider.stop();
  await ai.stop();
});

const phone = '+4930901801';
const article = {
  kind: 'article' as const,
  title: 'Delivery',
  body: '# Days\n\nWe deliver from Monday to Saturday.\n\n# Costs\n\nDelivery is free above 40 euros.',
};

/** Opens a shop with a live agent, an indexed article, and a customer with an open deal. */
async function openShop(client: Client) {
  const set = await client.putChannel({ params: { channel: 'whatsapp' }, body: provider.settings });
  const { id: source_id } = await client.createSource({ body: article });
  const contact = await client.createContact({ body: { name: 'Casey', phone } });
  const pipeline = (await client.listPipelines()).data[0]!;
  const deal = await client.createDeal({ body: { title: 'Tea', contact: contact.id } });
  const agent = await client.createAgent({
    body: { name: 'Robin', role: 'Answers questions', pipelines: [pipeline.id] },
  });
  const params = { agent_id: agent.id };
  await client.putWorkflowDraft({ params, body: { blocks: [{ id: 'answer', kind: 'ai' }] } });
  await client.publishWorkflow({ params });
  await client.goLiveAgent({ params });
  await waitFor('the article to be read', async () => {
    return (await client.getSource({ params: { source_id } })).status === 'ready';
  });
  const { gatewayUrl } = platform;
  const write = (body: string) => {
    const at = platform.clock.now();
    const inbound = { type: 'inbound', from: phone, body, id: crypto.randomUUID(), at: at.toISOString() };
    return callHook({ gatewayUrl, path: new URL(set.hook_url).pathname, secret: provider.secret }, inbound, { at });
  };
  const awaiting = () =>
    waitFor('a plan to be approved', async () => (await client.listPlans({ query: { status: 'awaiting' } })).data[0]);
  const ended = (plan_id: number) =>
    waitFor('the plan to end', async () => {
      const plan = await client.getPlan({ params: { plan_id } });
      return !['awaiting_approval', 'running'].includes(plan.status) && plan;
    });
  return { agent, contact, deal, pipeline, write, awaiting, ended };
}

const messageOf = (plan: Plan) => plan.steps.find(({ action }) => action === 'send_message')!;

describe('a question by WhatsApp', () => {
  it('leads to a plan that somebody approves, and to the reply with its source, in the sandbox with nothing of one’s own', async () => {
    const { testClient: client } = await platform.account();
    const { agent, contact, write, awaiting, ended } = await openShop(client);
    expect((await write('Which days do you deliver?')).status).toBe(200);
    const plan = await awaiting();
    expect(plan).toMatchObject({
      agent: { id: agent.id, name: 'Robin' },
      scope: 'contact',
      contact: { id: contact.number, uuid: contact.id, name: 'Casey', msisdn: phone },
      deal: { id: 1, title: 'Tea', stage: 'New' },
      trigger: 'inbound_message',
      trigger_excerpt: 'Which days do you deliver?',
      status: 'awaiting_approval',
      model: 'simulated',
    });
    const body = messageOf(plan).body ?? '';
    expect(body.slice(body.indexOf('Monday to Saturday'))).toContain('Delivery');
    await client.approvePlan({ params: { plan_id: plan.id }, body: { note: 'Good' } });
    const done = await ended(plan.id);
    expect(done).toMatchObject({ status: 'completed', decision_note: 'Good', last_error: null });
    const message_id = String(messageOf(done).result!.message);
    const message = await waitFor('the reply to arrive', async () => {
      const found = await client.getMessage({ params: { message_id } });
      return found.status === 'delivered' && found;
    });
    expect(message).toMatchObject({ channel: 'whatsapp', to: phone, body: messageOf(plan).body });
    const usage = await client.getAgentUsage();
    expect(usage.totals).toMatchObject({ tokens: plan.tokens, calls: 1, plans: 1, estimated_cost_usd: 0 });
    expect(usage.totals.tokens).toBeGreaterThan(0);
    expect(ai.received).toEqual([]);
  });

  it("goes to the account's own AI, and the reply to its own provider, and webhooks are told of each", async () => {
    const account: TestAccount = await platform.account();
    const { client } = account;
    await client.updateAgentSettings({ body: ai.settings });
    const { agent, deal, write, awaiting, ended } = await openShop(client);
    ai.steps = [
      { action: 'send_message', params: { channel: 'whatsapp', body: 'Yes, on Saturdays too (from "Delivery").' } },
      { action: 'add_note', params: { body: 'Asked about Saturdays' } },
    ];
    await write('Do you deliver on Saturdays?');
    const plan = await awaiting();
    const [call] = ai.received;
    expect(call).toMatchObject({ path: '/v1/chat/completions', headers: { authorization: 'Bearer own-key' } });
    expect(call!.body).toContain('Do you deliver on Saturdays?');
    expect(call!.body).toContain('We deliver from Monday to Saturday.');
    await client.approvePlan({ params: { plan_id: plan.id } });
    await ended(plan.id);
    const sent = await waitFor('the reply', () =>
      provider.sent().find(({ body }) => body.includes('(from "Delivery")')),
    );
    expect(sent).toMatchObject({ channel: 'whatsapp', to: phone });
    expect((await client.getDeal({ params: { deal_id: deal.id } })).notes).toBe('Asked about Saturdays');
    for (const kind of [
      'knowledge.ready',
      'plan.awaiting_approval',
      'plan.approved',
      'plan.completed',
      'deal.updated',
    ]) {
      await platform.event(account.id, kind);
    }
    const usage = await client.getAgentUsage({ query: { days: 7 } });
    expect(usage).toMatchObject({
      totals: { tokens: tokensOfCall, prompt_tokens: 400, completion_tokens: 100, calls: 1, plans: 1 },
      agents: [{ agent: { id: agent.id }, tokens_today: tokensOfCall, calls: 1, plans: 1 }],
      models: [{ provider: 'openai_compatible', model: 'own-model', tokens: tokensOfCall, estimated_cost_usd: null }],
      uses: [{ agent: 'Robin', kind: 'planning', tokens: tokensOfCall, calls: 1 }],
      account: { tokens_today: tokensOfCall, daily_budget: null },
    });
  });
});
