import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type Receiver, rawRequest, startReceiver, waitFor } from '@customer-platform/testkit';
import { testCertificate, testCertificateKey } from '@customer-platform/testkit/test-certificate';
import { connectAs } from '../bus.ts';
import { startOwnProvider } from '../own-provider.ts';
import type { Fault } from './fault.ts';
import { requireWebhooks } from './load.ts';
import { untrustedCertificate, untrustedKey } from './untrusted-certificate.ts';
import type { World } from './world.ts';

const nothing = async () => undefined;

/** Publishes bytes that are not an event, as a defective service would. */
export const poison: Fault = {
  name: 'poison',
  what: 'invalid event bytes are published on the bus',
  alerts: [{ name: 'DeadEvents', labels: {} }],
  async cause({ platform, admin }) {
    const connection = await connectAs(platform, 'cdp');
    await connection.request('platform.event.public.cdp.audience.entered', 'no event', { timeout: 5_000, noMux: true });
    await connection.close();
    return {
      async remedy() {
        // One for each consumer that could not process it.
        const { data } = await admin('dead', 'list');
        await admin('dead', 'show', data[0].id);
        for (const { id } of data) await admin('dead', 'drop', id, '--reason', 'no event, published by a drill');
      },
      end: nothing,
    };
  },
};

/** Pauses a queue. Returns a function that resumes it once. */
async function pause({ admin }: World, service: string, queue: string): Promise<() => Promise<void>> {
  await admin('queues', 'pause', service, queue, '--reason', 'a pause that a drill leaves behind');
  let isPaused = true;
  return async () => {
    if (isPaused) await admin('queues', 'resume', service, queue);
    isPaused = false;
  };
}

/** Leaves a pause of all deliveries behind. */
export const pausedDeliveries: Fault = {
  name: 'pause',
  what: 'all deliveries are paused and forgotten',
  alerts: [{ name: 'DeliveriesLate', labels: { job: 'webhooks', queue: 'deliveries' } }],
  async cause(world) {
    const resume = await pause(world, 'webhooks', 'deliveries');
    return {
      async remedy() {
        const { pauses } = await world.admin('queues', 'show', 'webhooks', 'deliveries', '--by', 'endpoint');
        if (pauses.length === 0) throw new Error('queues show does not have the pause');
        await resume();
      },
      end: resume,
    };
  },
};

/** Leaves a pause of audiences behind while one is due. */
export const pausedWork: Fault = {
  name: 'work',
  what: 'audiences are paused and forgotten; a customer creates one',
  alerts: [{ name: 'WorkLate', labels: { job: 'cdp', queue: 'audiences' } }],
  async cause(world) {
    const resume = await pause(world, 'cdp', 'audiences');
    const rules = { match: 'all', conditions: [{ type: 'tag', op: 'has_not', tag: 'none' }] };
    const { id } = await world.request('POST', '/v1/cdp/audiences', { name: 'All contacts', rules });
    const status = async () => {
      const key = world.keys[0]!;
      return (await rawRequest(world.platform.gatewayUrl, 'GET', `/v1/cdp/audiences/${id}`, { key })).body.status;
    };
    return {
      async remedy() {
        const { data } = await world.admin('queues', 'list', '--attention');
        if (!data.some((each: { queue: string }) => each.queue === 'audiences'))
          throw new Error('queues list --attention does not have audiences');
        await world.admin('queues', 'show', 'cdp', 'audiences');
        await resume();
      },
      prove: async () => void (await waitFor('the audience to be ready', async () => (await status()) === 'ready')),
      end: resume,
    };
  },
};

/** Leaves a pause of all messages behind while one is sent. */
export const pausedMessages: Fault = {
  name: 'messages',
  what: 'all messages are paused and forgotten; a message is sent',
  alerts: [{ name: 'MessagesLate', labels: { job: 'messaging', queue: 'messages' } }],
  async cause(world) {
    const { admin, request } = world;
    const provider = await startOwnProvider();
    await request('PUT', '/v1/messages/channels/sms', provider.settings);
    const resume = await pause(world, 'messaging', 'messages');
    const message = { to: '+4930901820', channels: [{ channel: 'sms', body: 'Hello' }] };
    const { id } = await request('POST', '/v1/messages', message);
    return {
      async remedy() {
        await admin('queues', 'list');
        await resume();
      },
      async prove() {
        const sent = () => provider.sent().filter((each) => each.message === id).length;
        await waitFor('the message at its provider', () => sent() > 0);
        if (sent() !== 1) throw new Error(`the message was sent ${sent()} times`);
      },
      async end() {
        await resume();
        await provider.stop();
      },
    };
  },
};

/** Registers an endpoint that never responds. */
export const hangingEndpoint: Fault = {
  name: 'hang',
  what: "a customer's server accepts webhooks and never responds",
  alerts: [{ name: 'EndpointFailing', labels: { job: 'webhooks' } }],
  async cause(world) {
    const receiver = await startReceiver();
    const replies = receiver.respond;
    receiver.respond = () => undefined;
    return await failingEndpoint(world, receiver, () => {
      receiver.received.length = 0; // the endpoint counts only webhooks that it responds to
      receiver.respond = replies;
    });
  },
};

/** Registers an endpoint with an untrusted certificate. */
export const wrongCertificate: Fault = {
  name: 'certificate',
  what: "a customer's server has a self-signed certificate",
  alerts: [{ name: 'EndpointFailing', labels: { job: 'webhooks' } }],
  async cause(world) {
    const receiver = await startReceiver();
    const server = createServer({ cert: untrustedCertificate, key: untrustedKey }, (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString();
        receiver.received.push({ method: 'POST', path: '/', headers: request.headers, body, at: Date.now() });
        response.writeHead(204).end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    receiver.url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const ongoing = await failingEndpoint(world, receiver, () => {
      server.setSecureContext({ cert: testCertificate, key: testCertificateKey });
    });
    const end = async () => {
      await ongoing.end();
      server.closeAllConnections();
      server.close();
    };
    return { ...ongoing, end };
  },
};

/** Adds an endpoint of the first account. `fix` is what its owner does when informed. */
async function failingEndpoint(world: World, receiver: Receiver, fix: () => void) {
  const { admin, load, platform } = world;
  const key = world.keys[0]!;
  const { id } = await world.request('POST', '/v1/webhooks', { url: receiver.url, events: ['contact.created'] });
  const before = new Set(load.acceptedBy(key));
  return {
    async remedy() {
      const { data } = await admin('endpoints', 'failing');
      const failing = data.find((endpoint: { id: string }) => endpoint.id === id);
      if (!failing) throw new Error('endpoints failing does not have it');
      world.say(`its error: ${failing.last_error}; its owner fixes it`);
      fix();
      await admin('queues', 'retry', 'webhooks', 'deliveries', '--endpoint', id);
    },
    async prove() {
      const since = load.acceptedBy(key).filter((contact) => !before.has(contact));
      await requireWebhooks(receiver, since);
      world.say(`nothing lost at that endpoint: ${since.length} webhooks arrived`);
    },
    async end() {
      await rawRequest(platform.gatewayUrl, 'DELETE', `/v1/webhooks/${id}`, { key });
      await receiver.stop();
    },
  };
}
