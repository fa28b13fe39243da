import type { Client } from '@customer-platform/client';
import type { Plan } from '@customer-platform/contracts/agents';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { callHook, type OwnProvider, startOwnProvider } from './own-provider.ts';
import { hireAgent } from './setup.ts';

/** A customer asks, an agent with the knowledge plans a reply, a member approves it, and the customer gets it. */
let platform: Platform;
let provider: OwnProvider;
beforeAll(async () => {
  platform = await startPlatform({ services: ['agents', 'cdp', 'crm', 'messaging', 'webhooks'] });
  // Noon in Berlin, so that daily counts do not cross midnight.
  platform.clock.set(`${new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)}T11:00:00Z`);
  provider = await startOwnProvider();
}, 60_000);
afterAll(async () => {
  await platform.stop();
  await provider.stop();
});

const phone = '+4930901801';
const article = {
  kind: 'article' as const,
  title: 'Delivery',
  body: '# Days\n\nWe deliver from Monday to Saturday.\n\n# Costs\n\nDelivery is free above 40 euros.',
};

/** Opens a shop with a live agent, an indexed article, and a customer with an open deal. */
async function openShop(client: Client) {
  const set = await client.messages.channels.put({ params: { channel: 'whatsapp' }, body: provider.settings });
  const { id: source_id } = await client.agents.knowledge.sources.create({ body: article });
  const contact = await client.cdp.contacts.create({ body: { name: 'Casey', phone } });
  const pipeline = (await client.crm.pipelines.list()).data[0]!;
  const deal = await client.crm.deals.create({ body: { title: 'Tea', contact: contact.id } });
  const agent = await hireAgent(client, { pipelines: [pipeline.id] });
  await waitFor('the article to be read', async () => {
    return (await client.agents.knowledge.sources.get({ params: { source_id } })).status === 'ready';
  });
  const { gatewayUrl } = platform;
  const write = (body: string) => {
    const at = platform.clock.now();
    const inbound = { type: 'inbound', from: phone, body, id: crypto.randomUUID(), at: at.toISOString() };
    return callHook({ gatewayUrl, path: new URL(set.hook_url).pathname, secret: provider.secret }, inbound, { at });
  };
  const awaiting = () =>
    waitFor(
      'a plan to be approved',
      async () => (await client.agents.plans.list({ query: { status: 'awaiting' } })).data[0],
    );
  const ended = (plan_id: number) =>
    waitFor('the plan to end', async () => {
      const plan = await client.agents.plans.get({ params: { plan_id } });
      return !['awaiting_approval', 'running'].includes(plan.status) && plan;
    });
  return { agent, contact, deal, pipeline, write, awaiting, ended };
}

const messageOf = (plan: Plan) => plan.steps.find(({ action }) => action === 'send_message')!;

describe('a question by WhatsApp', () => {
  it('leads to a plan, and after its approval to a reply with its source, in a sandbox without own settings', async () => {
    const { testClient: client } = await platform.account();
    const { agent, contact, write, awaiting, ended } = await openShop(client);
    expect((await write('Which days do you deliver?')).status).toBe(200);
    const plan = await awaiting();
    expect(plan).toMatchObject({
      agent: { id: agent, name: 'Robin' },
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
    await client.agents.plans.approve({ params: { plan_id: plan.id }, body: { note: 'Good' } });
    const done = await ended(plan.id);
    expect(done).toMatchObject({ status: 'completed', decision_note: 'Good', last_error: null });
    const message_id = String(messageOf(done).result!.message);
    const message = await waitFor('the reply to arrive', async () => {
      const found = await client.messages.get({ params: { message_id } });
      return found.status === 'delivered' && found;
    });
    expect(message).toMatchObject({ channel: 'whatsapp', to: phone, body: messageOf(plan).body });
    const usage = await client.agents.usage.get();
    expect(usage.totals).toMatchObject({ tokens: plan.tokens, calls: 1, plans: 1, estimated_cost_usd: 0 });
    expect(usage.totals.tokens).toBeGreaterThan(0);
  });
});
