import { createHmac } from 'node:crypto';
import {
  type Platform,
  type Receiver,
  startPlatform,
  startReceiver,
  type TestAccount,
  waitFor,
} from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { nextMonday, Seed } from './seed.ts';

let platform: Platform;
let receiver: Receiver;
let account: TestAccount;

beforeAll(async () => {
  platform = await startPlatform();
  receiver = await startReceiver();
  account = await platform.account({ timezone: 'UTC' });
  await platform.admin('POST', `/admin/accounts/${account.id}/members`, { name: 'Ada', email: 'ada@example.com' });
}, 60_000);
afterAll(async () => {
  await platform?.stop();
  await receiver?.stop();
});

it('books an appointment, and a webhook receiver is told with a signature that holds', async () => {
  const { client } = account;
  const { secret, id: endpointId } = await client.createEndpoint({
    body: { url: `${receiver.url}/hook`, events: ['appointment.*'] },
  });
  const seed = new Seed(account, platform.clock.now());
  const [contact_id, booking_type_id] = [await seed.id('contact_id'), await seed.id('booking_type_id')];
  const booked = await client.bookAppointment({
    body: {
      contact: contact_id as string,
      booking_type: booking_type_id as number,
      starts_at: nextMonday(platform.clock.now(), 1).toISOString(),
    },
  });

  const told = await receiver.next((request) => request.body.includes(booked.id));
  const {
    'webhook-id': id,
    'webhook-timestamp': at,
    'webhook-signature': signature,
  } = told.headers as Record<string, string>;
  const mac = createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64')).update(
    `${id}.${at}.${told.body}`,
  );
  expect(signature).toBe(`v1,${mac.digest('base64')}`);
  const envelope = JSON.parse(told.body);
  expect(envelope).toEqual({
    id,
    type: 'appointment.booked',
    timestamp: booked.created_at,
    account: account.id,
    mode: 'live',
    data: { appointment: await client.getAppointment({ params: { appointment_id: booked.id } }) },
  });

  const record = await waitFor('the record of the delivery', async () => {
    const { data } = await client.listDeliveries({
      params: { endpoint_id: endpointId },
      query: { status: 'delivered' },
    });
    return data.find((delivery) => delivery.event_id === id);
  });
  expect(record).toMatchObject({ event: 'appointment.booked', payload: envelope, response: { status: 204 } });
  expect(record.tries).toHaveLength(1);
  expect(await client.getEvent({ params: { event_id: id! } })).toEqual({ ...envelope, sequence: 2 });
});
