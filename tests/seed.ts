import { type TestAccount, waitFor } from '@customer-platform/testkit';
import { type OwnAi, startOwnAi } from './own-ai.ts';
import { hireAgent } from './setup.ts';

/** Allowed endpoint URL where nothing listens, for tests in which no delivery matters. */
const nowhere = 'http://127.0.0.1:9/';

/** Returns the next Monday at 10:00 UTC plus `weeks` weeks, which is within the seeded hours and beyond every minimum notice. */
export function nextMonday(now: Date, weeks = 0): Date {
  const days = ((8 - now.getUTCDay()) % 7 || 7) + weeks * 7;
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + days, 10));
}

/** AI of the seeds' agents. The first plan starts it. */
let ai: Promise<OwnAi> | undefined;

/** Stops servers that seeds have started. */
export async function endSeeds(): Promise<void> {
  await (await ai)?.stop();
  ai = undefined;
}

type Id = string | number;

/** Ids of one resource of each kind in an account, by path parameter. Each is created on first use. */
export class Seed {
  readonly #account: TestAccount;
  readonly #now: Date;
  readonly #made = new Map<string, Promise<Id>>();

  /** Requires an account in UTC with a member ada@example.com. */
  constructor(account: TestAccount, now: Date) {
    this.#account = account;
    this.#now = now;
  }

  /** Returns the id for a path parameter. Throws if there is no maker, so that no operation is skipped. */
  id(name: string): Promise<Id> {
    const make = makers[name];
    if (!make) throw new Error(`the seed has no ${name}: add the resource to tests/seed.ts`);
    const made = this.#made.get(name) ?? make(this.#account.client, (other) => this.id(other), this.#now);
    this.#made.set(name, made);
    return made;
  }

  /** Returns the path of an operation with ids of this account. */
  async path(template: string): Promise<string> {
    let path = template;
    for (const [placeholder, name] of template.matchAll(/\{(\w+)\}/g)) {
      path = path.replace(placeholder, encodeURIComponent(await this.id(name!)));
    }
    return path;
  }
}

type Make = (client: TestAccount['client'], id: (name: string) => Promise<Id>, now: Date) => Promise<Id>;

const contact = { name: 'Ada', phone: '+4930901820', email: 'ada@example.com', external_id: 'seed' };
const allContacts = {
  match: 'all' as const,
  conditions: [{ type: 'tag' as const, op: 'has_not' as const, tag: 'none' }],
};

async function publish(client: TestAccount['client'], params: { agent_id: number }): Promise<void> {
  await client.agents.workflow.draft.put({ params, body: { blocks: [{ id: 'answer', kind: 'ai' }] } });
  await client.agents.workflow.publish({ params });
}

/** Sets up SMS with a provider that does not exist. */
async function setUpSms(client: TestAccount['client']): Promise<void> {
  const provider = { provider: 'http' as const, settings: { url: nowhere } };
  await client.messages.channels.put({ params: { channel: 'sms' }, body: provider });
}

const makers: Record<string, Make> = {
  member_id: async (client) => {
    return (await client.members.add({ body: { name: 'Bo', email: 'bo@example.com' } })).id;
  },
  key_id: async (client) => {
    return (await client.keys.create({ body: { name: 'Seed', mode: 'live', scopes: ['calendar:read'] } })).id;
  },
  contact_id: async (client) => (await client.cdp.contacts.create({ body: contact })).id,
  external_id: async (_client, id) => {
    await id('contact_id');
    return contact.external_id;
  },
  audience_id: async (client) =>
    (await client.cdp.audiences.create({ body: { name: 'All contacts', rules: allContacts } })).id,
  // Separate contacts, so that changes of other contacts do not affect the pair.
  duplicate_id: async (client) => {
    const twins = ['Bea', 'Bea B.'].map((name) =>
      client.cdp.contacts.create({ body: { name, email: 'bea@example.com' } }),
    );
    await Promise.all(twins);
    await client.cdp.duplicates.find({ body: {} });
    return await waitFor('the pair to be found', async () => {
      const { data } = await client.cdp.duplicates.list({ query: { reason: 'email' } });
      return data.find(({ detail }) => detail === 'bea@example.com')?.id;
    });
  },
  email: async (client) => {
    await client.calendar.staff.create({ body: { email: 'ada@example.com', hours: { mon: [['08:00', '18:00']] } } });
    return 'ada@example.com';
  },
  time_off_id: async (client, id) => {
    const params = { email: String(await id('email')) };
    return (await client.calendar.staff.timeOff.create({ params, body: { from: '2030-01-01', to: '2030-01-02' } })).id;
  },
  booking_type_id: async (client, id) => {
    const staff = [String(await id('email'))];
    return (
      await client.calendar.bookingTypes.create({
        body: { name: 'Call', duration_minutes: 30, staff, window_days: 365 },
      })
    ).id;
  },
  appointment_id: async (client, id, now) => {
    const booking_type = Number(await id('booking_type_id'));
    const body = { contact: String(await id('contact_id')), booking_type, starts_at: nextMonday(now).toISOString() };
    return (await client.calendar.appointments.create({ body })).id;
  },
  product_id: async (client) => {
    return (await client.catalogue.products.create({ body: { sku: 'seed', name: 'Tea', price_minor: 500 } })).id;
  },
  order_id: async (client, id) => {
    await id('product_id');
    const items = [{ sku: 'seed', quantity: 2 }];
    return (await client.catalogue.orders.create({ body: { contact: String(await id('contact_id')), items } })).id;
  },
  pipeline_id: async (client) => (await client.crm.pipelines.list()).data[0]!.id,
  deal_id: async (client, id) => {
    return (await client.crm.deals.create({ body: { title: 'Seed', contact: String(await id('contact_id')) } })).id;
  },
  agent_id: async (client, id) => {
    const body = { name: 'Seed', role: 'Answers', pipelines: [Number(await id('pipeline_id'))] };
    return (await client.agents.create({ body })).id;
  },
  number: async (client, id) => {
    const params = { agent_id: Number(await id('agent_id')) };
    await publish(client, params);
    await publish(client, params);
    return 1;
  },
  // A separate agent and contact, so that changes of others do not prevent the plan.
  plan_id: async (client) => {
    ai ??= startOwnAi();
    await setUpSms(client);
    await client.agents.settings.update({ body: { ...(await ai).settings, daily_budget: null } });
    const params = { agent_id: await hireAgent(client) };
    const { id } = await client.cdp.contacts.create({ body: contact });
    const { id: plan_id } = await client.agents.plans.request({ params, body: { contact: id } });
    return await waitFor('the plan to be made', async () => {
      const plan = await client.agents.plans.get({ params: { plan_id } });
      if (plan.status === 'failed') throw new Error(plan.last_error ?? '');
      return plan.status === 'awaiting_approval' && plan_id;
    });
  },
  step_id: async (client, id) => {
    return (await client.agents.plans.get({ params: { plan_id: Number(await id('plan_id')) } })).steps[0]!.id;
  },
  collection_id: async (client) => (await client.agents.knowledge.collections.create({ body: { name: 'Seed' } })).id,
  source_id: async (client) => {
    return (
      await client.agents.knowledge.sources.create({
        body: { kind: 'article', title: 'Seed', body: '# Tea\n\nIt is green.' },
      })
    ).id;
  },
  message_id: async (client) => {
    await setUpSms(client);
    const channels = [{ channel: 'sms' as const, body: 'Seed' }];
    return (await client.messages.send({ body: { to: '+4930901820', channels, send_at: '2100-01-01T00:00:00Z' } })).id;
  },
  channel: async (client) => {
    await client.messages.channels.put({
      params: { channel: 'email' },
      body: { provider: 'http', settings: { url: nowhere } },
    });
    return 'email';
  },
  endpoint_id: async (client) => {
    return (await client.webhooks.create({ body: { url: nowhere, events: ['order.declined'] } })).id;
  },
  delivery_id: async (client, id) => {
    return (await client.webhooks.test({ params: { endpoint_id: String(await id('endpoint_id')) } })).id;
  },
  event_id: async (client, id) => {
    const params = { endpoint_id: String(await id('endpoint_id')), delivery_id: String(await id('delivery_id')) };
    return (await client.webhooks.deliveries.get({ params })).event_id;
  },
  replay_id: async (client, id, now) => {
    const params = { endpoint_id: String(await id('endpoint_id')) };
    return (await client.webhooks.replay({ params, body: { since: now.toISOString() } })).id;
  },
};
