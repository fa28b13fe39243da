import { createClient } from '@customer-platform/client';
import type { ProcessPlatform } from '@customer-platform/testkit';
import { firstDay, openAccount, slotMinutes } from './calendar-account.ts';
import { type Receiver, sandboxKey } from './harness.ts';

/** Teammates, each with a year of slots: more than an hour of bookings needs. */
const teammates = 4;

/** Resources whose creation is an event that the endpoint gets. */
export type Made = 'contact' | 'deal' | 'order' | 'appointment' | 'message';

/** One request of the mix. If it `makes` a resource, a 2xx response contains its id. */
export interface SoakRequest {
  method: 'GET' | 'POST' | 'PATCH';
  path: string;
  body?: object;
  makes?: Made;
}

/** A customer that uses every module. */
export interface SoakCustomer {
  key: string;
  /** Returns the next request of its mix; every name that it uses is unique. */
  next(): SoakRequest;
}

/** Creates a customer with a calendar, a message provider, a sandbox with an agent, and an endpoint for all events. */
export async function soakCustomers(platform: ProcessPlatform, receiver: Receiver): Promise<SoakCustomer[]> {
  const account = await openAccount(platform, teammates, ['00:00', '24:00']);
  const { id, key, client, contact } = account;
  const type = await account.bookingType();
  const settings = { url: `${receiver.url}/send` };
  await client.messages.channels.put({ params: { channel: 'sms' }, body: { provider: 'http', settings } });
  await client.webhooks.create({ body: { url: receiver.url, events: ['*'] } });
  const audience = { match: 'all' as const, conditions: [{ type: 'tag' as const, op: 'has' as const, tag: 'soak' }] };
  await client.cdp.audiences.create({ body: { name: 'Soak', rules: audience } });
  return [{ key, next: liveMix(contact, type, account.teammates) }, await sandboxOf(platform, id, receiver)];
}

/** Returns the requests of a live account in turn; most are reads, as is typical. */
function liveMix(contact: string, bookingType: number, staff: readonly string[]): () => SoakRequest {
  let made = 0;
  const name = () => `Soak ${made}`;
  const items = [{ sku: 'tea', name: 'Tea', quantity: 1, unit_price_minor: 450 }];
  const channels = [{ channel: 'sms', body: 'Your parcel is on its way.' }];
  const post = (path: string, makes: Made, body: () => object) => (): SoakRequest => {
    return { method: 'POST', path, body: body(), makes };
  };
  const get = (path: string) => (): SoakRequest => ({ method: 'GET', path });
  const booking = () => {
    const slot = Math.floor(made / staff.length);
    const starts_at = new Date(firstDay() + slot * slotMinutes * 60_000).toISOString();
    return { contact, booking_type: bookingType, starts_at, staff: staff[made % staff.length] };
  };
  const mix: (() => SoakRequest)[] = [
    post('/v1/cdp/contacts', 'contact', () => ({ name: name(), tags: made % 2 === 0 ? ['soak'] : [] })),
    get('/v1/cdp/contacts?limit=20'),
    post('/v1/calendar/appointments', 'appointment', booking),
    get(`/v1/calendar/free-times?booking_type=${bookingType}&limit=50`),
    post('/v1/crm/deals', 'deal', () => ({ title: name(), contact })),
    get('/v1/crm/deals?limit=20'),
    () => ({ method: 'PATCH', path: `/v1/cdp/contacts/${contact}`, body: { fields: { seen: made } } }),
    post('/v1/catalogue/orders', 'order', () => ({ contact, items })),
    get('/v1/catalogue/orders?limit=20'),
    post('/v1/messages', 'message', () => ({ contact, channels })),
    get('/v1/messages?limit=20'),
    get(`/v1/cdp/contacts/${contact}`),
    get('/v1/webhooks'),
    get('/v1/events?limit=20'),
  ];
  return () => mix[made++ % mix.length]!();
}

/** Creates a customer's sandbox, where providers and the AI are simulated: messages with receipts and plans with steps. */
async function sandboxOf(platform: ProcessPlatform, id: string, receiver: Receiver): Promise<SoakCustomer> {
  const key = await sandboxKey(platform, id);
  const client = createClient({ baseUrl: platform.gatewayUrl, apiKey: key });
  await client.webhooks.create({ body: { url: receiver.url, events: ['*'] } });
  const contact = (await client.cdp.contacts.create({ body: { name: 'Ada', phone: '+4930901820' } })).id;
  const [pipeline] = (await client.crm.pipelines.list()).data;
  const agent = await client.agents.create({
    body: { name: 'Soak', role: 'Replies to customers', pipelines: [pipeline!.id], actions: ['send_message'] },
  });
  const params = { agent_id: agent.id };
  await client.agents.workflow.draft.put({ params, body: { blocks: [{ id: 'answer', kind: 'ai' }] } });
  await client.agents.workflow.publish({ params });
  await client.agents.goLive({ params });
  const channels = [{ channel: 'sms', body: 'Your parcel is on its way.' }];
  const mix: SoakRequest[] = [
    { method: 'POST', path: '/v1/messages', body: { contact, channels }, makes: 'message' },
    { method: 'GET', path: '/v1/agents/plans?limit=20' },
    { method: 'POST', path: `/v1/agents/${agent.id}/plans`, body: { contact, goal: 'Say hello' } },
    { method: 'GET', path: '/v1/messages?limit=20' },
  ];
  let sent = 0;
  return { key, next: () => mix[sent++ % mix.length]! };
}
