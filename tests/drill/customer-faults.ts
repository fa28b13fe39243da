import type { ServerResponse } from 'node:http';
import { rawRequest, startReceiver, waitFor } from '@customer-platform/testkit';
import { type OwnProvider, startOwnProvider } from '../own-provider.ts';
import type { Fault, Ongoing } from './fault.ts';
import type { World } from './world.ts';

/** Requests that a stranger sends with a leaked key, whose rate allows only a few. */
const strangeRequests = 60;
const anHourAgo = () => new Date(Date.now() - 3_600_000).toISOString();

/** Creates a new account, and returns a function that sends requests as the account. */
async function customerOf({ platform }: World, settings: Record<string, unknown> = {}) {
  const { id, key } = await platform.account(settings);
  const request = (method: string, path: string, body?: object) =>
    rawRequest(platform.gatewayUrl, method, path, { key, ...(body && { body }) });
  return { id, key, request };
}

/** Sends a customer's message through a provider that responds with an error until it is fixed. */
async function messagesThatFail(world: World, status: number, error: string, fix: Fix): Promise<Ongoing> {
  const customer = await customerOf(world);
  const provider = await startOwnProvider();
  const takes = provider.respond;
  provider.respond = (_request: unknown, response: ServerResponse) => response.writeHead(status).end(error);
  await customer.request('PUT', '/v1/messages/channels/sms', provider.settings);
  const body = { to: '+4930901821', channels: [{ channel: 'sms', body: 'Hello' }] };
  await customer.request('POST', '/v1/messages', body);
  return {
    account: customer.id,
    async remedy() {
      provider.received.length = 0; // the provider never sent the messages that it rejected
      provider.respond = takes;
      await fix(customer, provider);
    },
    async prove() {
      await waitFor('the message at its provider', () => provider.sent().length > 0);
      const { messages } = await world.admin('health', customer.id);
      if (messages.channels[0].status !== 'ready') throw new Error('the channel is still failing');
      if (provider.sent().length !== 1) throw new Error(`the message was sent ${provider.sent().length} times`);
    },
    end: () => provider.stop(),
  };
}

type Fix = (customer: Awaited<ReturnType<typeof customerOf>>, provider: OwnProvider) => Promise<void>;

/** Makes a provider reject the messages of an account. */
export const rejectedMessages: Fault = {
  name: 'rejected',
  what: "a provider rejects a customer's messages",
  alerts: [],
  runbook: 'messages-failing',
  cause: (world) =>
    messagesThatFail(world, 422, '{"error":"unknown sender"}', async ({ id }) => {
      const since = anHourAgo();
      const flags = ['--since', since, '--code', 'rejected', '--reason', 'their provider knows the sender again'];
      const { matched } = await world.admin('messages', 'resend', id, ...flags);
      if (matched !== 1) throw new Error(`messages resend matched ${matched}`);
    }),
};

/** Makes a provider reject the credentials of an account. */
export const refusedToken: Fault = {
  name: 'token',
  what: "a provider rejects a customer's token",
  alerts: [],
  runbook: 'channel-failing',
  cause: (world) =>
    messagesThatFail(world, 401, '{"error":"the token has expired"}', async ({ id, request }, provider) => {
      const { channels } = await world.admin('attention');
      if (!channels.some(({ account }: { account: string }) => account === id))
        throw new Error('attention does not list the channel');
      world.say('the customer sets the channel up again');
      await request('PUT', '/v1/messages/channels/sms', provider.settings);
    }),
};

/** Lets a stranger exhaust the rate of a key. */
export const leakedKey: Fault = {
  name: 'leaked',
  what: 'a stranger uses the key of a customer, who gets 429',
  alerts: [],
  runbook: 'key-leaked',
  async cause(world) {
    const customer = await customerOf(world, { rate_limit: { per_minute: 1, burst: 5 } });
    for (let sent = 0; sent < strangeRequests; sent++) await customer.request('GET', '/v1/me');
    return {
      account: customer.id,
      async remedy() {
        await world.admin('traffic', '--account', customer.id);
        const { keys } = await world.admin('health', customer.id);
        world.say(`${keys[0].limited} of ${keys[0].requests} requests got 429, from ${keys[0].addresses}`);
        await world.admin('keys', 'rotate', keys[0].id, '--overlap-seconds', '0', '--reason', 'leaked');
      },
      async prove() {
        const status = async () => (await customer.request('GET', '/v1/me')).status;
        await waitFor('the old key to be refused', async () => (await status()) === 401);
      },
      end: async () => undefined,
    };
  },
};

/** Switches a module off. */
export const moduleOff: Fault = {
  name: 'module',
  what: "a customer's Pipelines are switched off by mistake",
  alerts: [],
  runbook: 'module-off',
  async cause(world) {
    const customer = await customerOf(world);
    const turn = (on: boolean, reason: string) =>
      world.admin('accounts', 'update', customer.id, '--modules', `{"crm":{"on":${on}}}`, '--reason', reason);
    await turn(false, 'a drill');
    const list = async () => (await customer.request('GET', '/v1/crm/deals')).status;
    await waitFor('404 module_off', async () => (await list()) === 404);
    return {
      account: customer.id,
      async remedy() {
        const { data } = await world.admin('audit', '--account', customer.id);
        if (data[0].reason !== 'a drill') throw new Error('audit does not say why it was switched off');
        await turn(true, 'switched off by mistake');
      },
      prove: async () => void (await waitFor('200', async () => (await list()) === 200)),
      end: async () => undefined,
    };
  },
};

/** Makes an endpoint respond with 410 once. */
export const goneEndpoint: Fault = {
  name: 'gone',
  what: "a customer's server responds with 410 once, which disables its endpoint",
  alerts: [],
  runbook: 'endpoint-failing',
  async cause(world) {
    const customer = await customerOf(world);
    const receiver = await startReceiver();
    const takes = receiver.respond;
    receiver.respond = (_request, response) => response.writeHead(410).end();
    const events = ['contact.created'];
    const { body: endpoint } = await customer.request('POST', '/v1/webhooks', { url: receiver.url, events });
    await customer.request('POST', '/v1/cdp/contacts', { name: 'Refused with 410' });
    return {
      account: customer.id,
      async remedy() {
        const { disabled_reason } = await world.admin('endpoints', 'show', endpoint.id);
        world.say(`disabled: ${disabled_reason}`);
        receiver.received.length = 0; // the endpoint never received the deliveries that it rejected
        receiver.respond = takes;
        await customer.request('POST', '/v1/cdp/contacts', { name: 'Missed while disabled' });
        const since = anHourAgo();
        await world.admin('endpoints', 'enable', endpoint.id, '--reason', 'it was a mistake');
        await world.admin('endpoints', 'replay', endpoint.id, '--since', since, '--reason', 'missed');
      },
      prove: async () => void (await waitFor('both webhooks', () => receiver.received.length >= 2)),
      end: () => receiver.stop(),
    };
  },
};
