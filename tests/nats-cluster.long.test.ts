import { randomUUID } from 'node:crypto';
import { Bus, createLogger } from '@customer-platform/service-kit';
import { type Platform, pagesOf, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { type NatsCluster, natsServers, startNatsCluster } from '@customer-platform/testkit/nats-cluster';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type ConsumerInfo, type JetStreamManager, jetstreamManager, type StreamInfo } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';

/** Number of requests that must succeed while a server is unavailable. */
const requestsMeanwhile = 150;

let cluster: NatsCluster;
let platform: Platform;
let account: TestAccount;
let nats: NatsConnection;
let manager: JetStreamManager;

beforeAll(async () => {
  cluster = await startNatsCluster();
  const { urls } = cluster;
  nats = await connect({ servers: urls });
  manager = await jetstreamManager(nats, { checkAPI: false });
  await waitFor('the cluster to have a leader', () => manager.getAccountInfo(), 60_000);
  platform = await startPlatform({
    services: ['cdp', 'crm', 'webhooks'],
    env: { LOG_LEVEL: 'silent', NATS_URL: urls.join(','), NATS_REPLICAS: String(natsServers), NATS_STREAM_MIB: '1024' },
  });
  account = await platform.account();
}, 180_000);
afterAll(async () => {
  await platform?.stop();
  await nats?.close();
  await cluster?.stop();
}, 60_000);

const recorder = 'webhooks-public-events';

/** Returns whether all servers have the whole stream or consumer. */
function isWhole({ cluster: group }: Pick<StreamInfo | ConsumerInfo, 'cluster'>): boolean {
  const others = group?.replicas ?? [];
  return others.length === natsServers - 1 && others.every(({ current, offline }) => current && !offline);
}

const recorderOf = () => manager.consumers.info(platform.env('cdp').BUS_PREFIX!, recorder);
const isRecorderWhole = async () => isWhole(await recorderOf());

/**
 * Waits until every server has the whole stream and the whole consumer that records events. The consumer has its own group, which would lose two of three members if
 * the next server were killed earlier.
 */
async function whole(): Promise<void> {
  const stream = platform.env('cdp').BUS_PREFIX!;
  const isStreamWhole = async () => isWhole(await manager.streams.info(stream));
  await waitFor('every server to have the stream', isStreamWhole, 60_000);
  // NATS 2.9.10 sometimes leaves a consumer without a leader, or one server without the consumer, permanently. This applies the two remedies
  // of the runbook for lagging consumers, the faster one first: the consumer is deleted, and the service recreates it and skips the events
  // that it has processed; otherwise the servers are restarted.
  const isRecovered = () => waitFor('the consumer', isRecorderWhole, 45_000).catch(() => false);
  for (const index of cluster.urls.keys()) {
    if (await isRecovered()) return;
    await manager.consumers.delete(stream, recorder).catch(() => undefined); // it may be deleted, or may have no leader yet
    if (await isRecovered()) return;
    cluster.kill(index);
    await startAgain(index);
    await waitFor('every server to have the stream', isStreamWhole, 60_000);
  }
  await waitFor('every server to have the consumer', isRecorderWhole, 60_000);
}

async function startAgain(index: number): Promise<void> {
  await waitFor('the server to start', () => cluster.start(index).then(() => true));
}

it('has the stream on every server, with the limits of the settings', async () => {
  await whole();
  const stream = platform.env('cdp').BUS_PREFIX!;
  const { config } = await manager.streams.info(stream);
  expect([config.num_replicas, config.max_bytes, config.discard]).toEqual([natsServers, 1_024 * 1_048_576, 'old']);
});

it('changes the limits of an existing stream and keeps its events', async () => {
  const { client } = await platform.account();
  await client.cdp.contacts.create({ body: { name: 'Ada' } });
  const { NATS_URL, BUS_PREFIX } = platform.env('cdp') as Record<'NATS_URL' | 'BUS_PREFIX', string>;
  const before = await waitFor('an event', async () => {
    const { state } = await manager.streams.info(BUS_PREFIX);
    return state.messages > 0 ? state : undefined;
  });
  for (const [NATS_REPLICAS, NATS_STREAM_MIB] of [
    [1, 1_200],
    [natsServers, 1_024],
  ] as const) {
    const bus = await Bus.connect(NATS_URL, {
      prefix: BUS_PREFIX,
      service: 'gateway',
      log: createLogger('test', 'silent'),
      settings: { NATS_REPLICAS, NATS_STREAM_MIB },
    });
    const event = { id: randomUUID(), kind: 'order.created', audience: 'internal', sequence: 1, envelope: '{}' };
    await waitFor('the stream to accept events', () => bus.publish({ ...event, trace: undefined }).then(() => true));
    const { config, state } = await manager.streams.info(BUS_PREFIX);
    expect([config.num_replicas, config.max_bytes]).toEqual([NATS_REPLICAS, NATS_STREAM_MIB * 1_048_576]);
    expect(state.first_seq).toBe(before.first_seq);
    await bus.close();
  }
  await whole();
}, 120_000);

it('serves every request and loses no event while any one server is killed', async () => {
  const startedAt = new Date();
  const made: string[] = [];
  const failures: unknown[] = [];
  let isOver = false;
  /** Resolved while clients send. They pause while servers catch up, which may never finish under full load on few cores. */
  let going = Promise.withResolvers<void>();
  going.resolve();
  const client = async () => {
    while (!isOver) {
      await going.promise;
      const contact = await account.request('POST', '/v1/cdp/contacts', { body: { name: 'Ada' } });
      if (contact.status !== 201) failures.push([contact.status, contact.text]);
      else made.push(contact.body.id);
      const deal = await account.request('POST', '/v1/crm/deals', { body: { title: 'Tea' } });
      if (deal.status !== 201) failures.push([deal.status, deal.text]);
    }
  };
  const clients = Array.from({ length: 3 }, client);
  const more = async () => {
    const until = made.length + requestsMeanwhile;
    await waitFor('more requests', () => made.length >= until || failures.length > 0, 60_000);
  };
  try {
    for (const index of cluster.urls.keys()) {
      await more();
      cluster.kill(index);
      await more();
      await startAgain(index);
      await more();
      going = Promise.withResolvers<void>();
      await whole();
      going.resolve();
    }
  } finally {
    isOver = true;
    going.resolve();
    await Promise.allSettled(clients);
  }
  await Promise.all(clients);
  expect(failures).toEqual([]);
  const recorded = async () => {
    const { data: events } = await pagesOf((query) =>
      account.client.events.list({ query: { ...query, type: 'contact.created' } }),
    );
    return events.map(({ data }) => (data as { contact: { id: string } }).contact.id);
  };
  const all = () => waitFor('the events', async () => (await recorded()).length >= made.length, 60_000);
  await all().catch(async () => {
    // Before NATS 2.9.16 two servers may lead at once, which loses acknowledged events. Events in the stream must arrive; the runbook recovers the rest.
    const lacking = new Set(made).difference(new Set(await recorded()));
    const missed = lacking.intersection(await contactsOfStream());
    const state = await recorderOf().catch((error: Error) => error.message);
    if (missed.size > 0)
      throw new Error(`${missed.size} events of the stream did not arrive: ${JSON.stringify(state)}`);
    await platform.admin('POST', '/admin/events/republish', { since: startedAt.toISOString(), service: 'cdp' });
    await all();
  });
  expect((await recorded()).sort()).toEqual(made.sort());
}, 600_000);

/** Returns the contacts whose events are in the stream. */
async function contactsOfStream(): Promise<Set<string>> {
  const stream = platform.env('cdp').BUS_PREFIX!;
  const found = new Set<string>();
  for (let seq = 1; ; seq++) {
    const query = { seq, next_by_subj: `${stream}.event.public.cdp.contact.created` };
    const message = await manager.streams.getMessage(stream, query);
    if (!message) return found;
    found.add(message.json<{ data: { contact: { id: string } } }>().data.contact.id);
    seq = message.seq;
  }
}
