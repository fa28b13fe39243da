import { type Client, eachOf } from '@customer-platform/client';
import {
  type ProcessPlatform,
  type Receiver,
  type ServerName,
  startProcessPlatform,
  startReceiver,
  waitFor,
} from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { killAndSeeBack } from './processes.ts';
import { openCalendar, retryingClient } from './setup.ts';

/** Number of kills. Each kills the next process in turn. */
const moments = 21;
const writers = 8;
const servers: ServerName[] = ['postgres', 'nats', 'redis'];

let platform: ProcessPlatform;
let receiver: Receiver;
let client: Client;

beforeAll(async () => {
  platform = await startProcessPlatform({ WEBHOOKS_RETRY_SCHEDULE: `0${',1s'.repeat(49)}` });
  receiver = await startReceiver();
  client = retryingClient(platform.gatewayUrl, (await platform.account()).key);
}, 120_000);
afterAll(async () => {
  await platform?.stop();
  await receiver?.stop();
}, 60_000);

/** Kills one process and waits until it is up again. */
async function killOne(name: string): Promise<void> {
  if (servers.includes(name as ServerName)) {
    platform.kill(name);
    await platform.startServer(name as ServerName);
    return;
  }
  await killAndSeeBack(platform, name);
}

it(`loses and duplicates nothing when any one process is killed, at ${moments} moments under load`, async () => {
  const { contact, bookingType, startAt } = await openCalendar(client);
  await client.webhooks.create({ body: { url: receiver.url, events: ['contact.created', 'appointment.booked'] } });
  const acknowledged = { contacts: new Map<string, string>(), appointments: new Map<string, string>() };
  let stopped = false;
  let next = 0;
  const write = async () => {
    while (!stopped) {
      const key = `key-${next++}`;
      const made = await client.cdp.contacts.create({ body: { name: key }, idempotencyKey: key });
      acknowledged.contacts.set(key, made.id);
      const booked = await client.calendar.appointments.create({
        body: { contact, booking_type: bookingType, starts_at: startAt(Number(key.slice(4))), notes: key },
        idempotencyKey: key,
      });
      acknowledged.appointments.set(key, booked.id);
    }
  };
  const writing = Array.from({ length: writers }, write);
  const victims = [...platform.processNames, ...servers];
  for (let moment = 0; moment < moments; moment++) {
    const before = acknowledged.appointments.size;
    await killOne(victims[moment % victims.length]!);
    await waitFor('writes to go on', () => acknowledged.appointments.size > before + writers, 30_000);
  }
  stopped = true;
  await Promise.all(writing);

  const contacts = new Map<string, string[]>();
  for await (const { id, name } of eachOf((page) =>
    client.cdp.contacts.list({ query: { q: 'key-', limit: 100, ...page } }),
  )) {
    contacts.set(name, [...(contacts.get(name) ?? []), id]);
  }
  const appointments = new Map<string, string[]>();
  for await (const { id, notes } of eachOf((page) =>
    client.calendar.appointments.list({ query: { limit: 100, ...page } }),
  )) {
    appointments.set(notes, [...(appointments.get(notes) ?? []), id]);
  }
  // Every key led to exactly the acknowledged change: none twice, none lost.
  expect(contacts).toEqual(new Map([...acknowledged.contacts].map(([key, id]) => [key, [id]])));
  expect(appointments).toEqual(new Map([...acknowledged.appointments].map(([key, id]) => [key, [id]])));

  const expected = new Set([...acknowledged.contacts.values(), ...acknowledged.appointments.values()]);
  await waitFor(
    'every change at the receiver',
    () => {
      for (const { body } of receiver.received.splice(0)) {
        const { data } = JSON.parse(body);
        expected.delete((data.contact ?? data.appointment).id);
      }
      return expected.size === 0;
    },
    90_000,
  );
}, 300_000);
