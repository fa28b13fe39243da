import { randomUUIDv7 } from 'node:crypto';
import { type Client, createClient } from '@customer-platform/client';
import { type ProcessPlatform, rawRequest, readStream, startReceiver, waitFor } from '@customer-platform/testkit';
import { connectAs } from './bus.ts';
import { startOwnAi } from './own-ai.ts';
import { callHook, startOwnProvider } from './own-provider.ts';
import { hireAgent, openCalendar } from './setup.ts';

/** Light load of one account on every module, including refused and failing requests. */
export interface Load {
  /** Sends a few requests to each module and waits until the agent's plan has ended. */
  round(): Promise<void>;
  stop(): Promise<void>;
}

const phone = '+4930901801';
const article = { kind: 'article' as const, title: 'Delivery', body: 'We deliver from Monday to Saturday.' };

/** Sets up one account: a calendar, a channel, a live agent with an AI, an endpoint that responds and one that fails. */
export async function startLoad(platform: ProcessPlatform): Promise<Load> {
  const servers = {
    ai: await startOwnAi(),
    provider: await startOwnProvider(),
    good: await startReceiver(),
    bad: await startReceiver(),
  };
  servers.bad.respond = (_request, response) => response.writeHead(500).end();
  const { gatewayUrl } = platform;
  const { key } = await platform.account();
  const client = createClient({ baseUrl: gatewayUrl, apiKey: key });
  const stream = await readStream(`${gatewayUrl}/v1/events/stream`, key);
  const slow = await platform.account({ rate_limit: { per_minute: 1, burst: 1 } });
  for (const { url } of [servers.good, servers.bad]) await client.webhooks.create({ body: { url, events: ['*'] } });
  const hook = await client.messages.channels.put({ params: { channel: 'sms' }, body: servers.provider.settings });
  const path = new URL(hook.hook_url).pathname;
  const calendar = await openCalendar(client);
  await client.agents.settings.update({ body: servers.ai.settings });
  const agent_id = await hireAgent(client, { approval_mode: 'none' });
  const faulty = await connectAs(platform, 'cdp');
  let booked = 0;
  return {
    async round() {
      const contact = (await client.cdp.contacts.create({ body: { name: 'Casey', phone } })).id;
      const body = { contact, booking_type: calendar.bookingType, starts_at: calendar.startAt(booked++) };
      await client.calendar.appointments.create({ body });
      const deal = await client.crm.deals.create({ body: { title: 'Tea', contact } });
      await client.crm.deals.win({ params: { deal_id: deal.id } });
      const items = [{ sku: 'tea', name: 'Tea', quantity: 1, unit_price_minor: 500 }];
      await client.catalogue.orders.create({ body: { contact, items } });
      await client.messages.send({ body: { contact, channels: [{ channel: 'sms', body: 'Hello' }] } });
      await client.agents.knowledge.sources.create({ body: { ...article, title: `Delivery ${booked}` } });
      await completePlan(client, agent_id, contact);
      await refusals(gatewayUrl, slow.key, { path, secret: servers.provider.secret });
      for (const text of ['no event at all', eventWithoutData()])
        faulty.publish('platform.event.internal.cdp.contact.updated', text);
      await faulty.flush();
    },
    async stop() {
      stream.close();
      await faulty.close();
      for (const server of Object.values(servers)) await server.stop();
    },
  };
}

/** Returns an envelope whose data no consumer can read, so consumers retry it. */
function eventWithoutData(): string {
  const id = randomUUIDv7();
  const timestamp = new Date().toISOString();
  return JSON.stringify({ id, type: 'contact.updated', timestamp, account: id, mode: 'live', data: {} });
}

async function completePlan(client: Client, agent_id: number, contact: string): Promise<void> {
  const plan = await client.agents.plans.request({ params: { agent_id }, body: { contact, goal: 'Answer' } });
  await waitFor('the plan to end', async () => {
    const { status, last_error } = await client.agents.plans.get({ params: { plan_id: plan.id } });
    if (status === 'failed') throw new Error(String(last_error));
    return status === 'completed';
  });
}

/** Sends refused requests: an unknown path, too many requests of a key, a deleted hook, a wrong signature. */
async function refusals(gatewayUrl: string, slowKey: string, hook: { path: string; secret: string }): Promise<void> {
  for (const _ of [1, 2, 3]) await rawRequest(gatewayUrl, 'GET', '/v1/me', { key: slowKey });
  await rawRequest(gatewayUrl, 'GET', '/v1/none', { key: slowKey });
  await callHook({ gatewayUrl, ...hook }, { type: 'inbound' }, { signature: 'v1,wrong' });
  await callHook({ gatewayUrl, ...hook, path: `/hooks/messages/${'x'.repeat(32)}` }, { type: 'inbound' });
}
