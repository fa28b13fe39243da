import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from '@customer-platform/client';
import { streamOwner } from '@customer-platform/service-kit';
import {
  type ProcessPlatform,
  type Receiver,
  startProcessPlatform,
  startReceiver,
  waitFor,
} from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { connectAs, countEvents } from './bus.ts';
import { openCalendar } from './setup.ts';

const permissions = JSON.parse(
  readFileSync(join(import.meta.dirname, '../deploy/nats/permissions.json'), 'utf8').replaceAll('{prefix}', 'platform'),
) as Record<string, { publish: string[]; subscribe: string[] }>;
const services = Object.keys(permissions);

let platform: ProcessPlatform;
let receiver: Receiver;

beforeAll(async () => {
  platform = await startProcessPlatform();
  receiver = await startReceiver();
}, 120_000);
afterAll(async () => {
  await platform?.stop();
  await receiver?.stop();
}, 60_000);

const isRefusal = /Permissions Violation|Authorization Violation/;

/** Returns the result of publishing a message: refused, or the reply. */
async function publishing(connection: NatsConnection, subject: string, payload = '{}'): Promise<string> {
  return await connection.request(subject, payload, { timeout: 5_000, noMux: true }).then(
    (reply) => `replied to: ${subject} ${reply.string()}`,
    (error: Error) => (isRefusal.test(error.message) ? 'refused' : `accepted: ${subject} (${error.message})`),
  );
}

/** Returns the result of a subscription. */
async function subscribing(connection: NatsConnection, subject: string): Promise<string> {
  let refusal: Error | null = null;
  connection.subscribe(subject, {
    callback: (error) => {
      refusal ??= error;
    },
  });
  await connection.flush();
  return isRefusal.test(String(refusal)) ? 'refused' : `accepted: ${subject}`;
}

const others = (service: string) => services.filter((name) => name !== service);
const durablesOf = (service: string) =>
  permissions[service]!.publish.flatMap((subject) => /^\$JS\.ACK\.platform\.([\w-]+)\.>$/.exec(subject)?.[1] ?? []);
const isRequestTo = (service: string) => (subject: string) => ['*', service].includes(subject.split('.')[2]!);
/** Subjects that only the stream's keeper may use. */
const ofKeeper = ['$JS.API.STREAM.UPDATE.platform'];
const requestsOf = (service: string) =>
  permissions[service]!.publish.filter((subject) => subject.startsWith('platform.request.'));

it('carries a booking from the request to the signed webhook', async () => {
  const { key } = await platform.account();
  const client = createClient({ baseUrl: platform.gatewayUrl, apiKey: key });
  await client.webhooks.create({ body: { url: receiver.url, events: ['appointment.booked'] } });
  const { contact, bookingType, startAt } = await openCalendar(client);
  const body = { contact, booking_type: bookingType, starts_at: startAt(0) };
  const booked = await waitFor('the booking', () => client.calendar.appointments.create({ body }));
  await receiver.next((request) => request.body.includes(booked.id));
});

it.each(services)(
  'lets %s create its consumers, send the requests of its sources, and update the stream if it is the keeper',
  async (service) => {
    const connection = await connectAs(platform, service);
    for (const durable of durablesOf(service)) {
      const info = await waitFor(durable, async () => {
        const reply = await connection.request(`$JS.API.CONSUMER.INFO.platform.${durable}`, '', { timeout: 5_000 });
        return reply.json<{ config?: { durable_name: string } }>().config;
      });
      expect(info.durable_name).toBe(durable);
    }
    const requests = requestsOf(service).filter((one) => !one.includes('*'));
    for (const subject of [...requests, ...(service === streamOwner ? ofKeeper : [])])
      expect(await publishing(connection, subject)).toContain('replied to');
    await connection.close();
  },
);

describe.each(services)('the user %s', (service) => {
  let connection: NatsConnection;
  beforeAll(async () => {
    connection = await connectAs(platform, service);
  });
  afterAll(() => connection.close());
  const refusedAll = async (subjects: string[], attempt: (subject: string) => Promise<string>) => {
    expect(subjects).not.toEqual([]);
    expect(new Set(await Promise.all(subjects.map(attempt)))).toEqual(new Set(['refused']));
  };

  it('cannot publish events of another service', async () => {
    const subjects = others(service).flatMap((name) => [
      `platform.event.public.${name}.forged`,
      `platform.event.internal.${name}.forged`,
    ]);
    await refusedAll(subjects, (subject) => publishing(connection, subject));
    expect(await countEvents(connection, 'platform.event.*.*.forged')).toBe(0);
  });

  it('cannot send requests that its sources do not send', async () => {
    const all = services.flatMap(requestsOf).filter((subject) => !subject.includes('*'));
    const forbidden = all.filter((subject) => !requestsOf(service).includes(subject));
    const invented = services.map((name) => `platform.request.${name}.invented`);
    await refusedAll([...new Set([...forbidden, ...invented])], (subject) => publishing(connection, subject));
  });

  it('cannot subscribe to events, to requests to others or to replies to others', async () => {
    const subjects = others(service).flatMap((name) => [`platform.request.${name}.>`, `_INBOX.${name}.>`]);
    const wide = ['>', '*.>', 'platform.>', 'platform.event.>', 'platform.request.>', 'platform.news.>', '_INBOX.>'];
    await refusedAll([...subjects, ...wide, '$JS.>', '$SYS.>'], (subject) => subscribing(connection, subject));
  });

  it("cannot change the stream, or create, read or acknowledge another's consumers", async () => {
    const theirs = others(service).flatMap(durablesOf);
    await refusedAll(
      [
        ...['PURGE', 'DELETE', 'MSG.GET', 'MSG.DELETE'].map((call) => `$JS.API.STREAM.${call}.platform`),
        ...(service === streamOwner ? [] : ofKeeper),
        '$JS.API.STREAM.CREATE.other',
        '$JS.API.DIRECT.GET.platform',
        '$JS.API.CONSUMER.CREATE.platform',
        ...durablesOf(service).flatMap((durable) => [
          `$JS.API.CONSUMER.CREATE.platform.${durable}`,
          `$JS.API.CONSUMER.CREATE.platform.${durable}.platform.event.>`,
          `$JS.API.CONSUMER.DURABLE.CREATE.platform.${durable}`,
        ]),
        ...theirs.flatMap((durable) => [
          `$JS.API.CONSUMER.CREATE.platform.${durable}.platform.event.public.*.>`,
          `$JS.API.CONSUMER.MSG.NEXT.platform.${durable}`,
          `$JS.API.CONSUMER.DELETE.platform.${durable}`,
          `$JS.ACK.platform.${durable}.1.1.1.1.0`,
        ]),
      ],
      (subject) => publishing(connection, subject),
    );
  });

  it('cannot purge the stream through the reply subject of its own event', async () => {
    const kept = `platform.event.internal.${service}.kept`;
    await connection.request(kept, '{}', { timeout: 5_000 });
    connection.publish(kept, '{}', { reply: '$JS.API.STREAM.PURGE.platform' });
    for (let count = 0; count < 3; count++) await connection.request(kept, '{}', { timeout: 5_000 });
    expect(await countEvents(connection, kept)).toBe(5);
  });

  it("cannot publish another service's news, and writes only into reply inboxes of services that send it requests", async () => {
    const forbidden = ['platform.news.invented', ...others(service).map((name) => `platform.news.${name}.queues`)];
    const asking = services.filter((name) => requestsOf(name).some(isRequestTo(service)));
    const inboxes = [
      ...services.map((name) => `_INBOX.${name}.guessed`),
      ...services.filter((name) => !asking.includes(name)).map((name) => `_INBOX.${name}.reply.guessed`),
    ];
    await refusedAll([...forbidden, ...inboxes], (subject) => publishing(connection, subject));
  });
});

it('rejects connections without a password or with a wrong one', async () => {
  const { host } = new URL(platform.natsUrl());
  const [cdp, admin] = [{ user: 'cdp' }, { user: 'admin', pass: 'admin' }];
  for (const login of [{}, { ...cdp, pass: 'guessed' }, { ...cdp, pass: '' }, admin])
    await expect(connect({ servers: host, reconnect: false, ...login })).rejects.toThrow(/authorization violation/i);
});
