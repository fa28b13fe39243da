import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { consult } from './black-box-agents.ts';
import { converse, trade } from './black-box-modules.ts';
import { eventually, expectStatus, expectThat, patienceMs, step } from './black-box-steps.ts';
import { askUntil, type JsonResponse, type Send, sender } from './json-request.ts';
import { startReceiver, whyForged } from './webhook-receiver.ts';

const usage = `Checks a running platform from outside, as a customer with a new account.

  npm run black-box                      checks the platform of npm start, from .platform/demo.json
  npm run black-box -- --gateway http://127.0.0.1:8080 --admin http://127.0.0.1:8081 --admin-token TOKEN

  --admin-token     default: ADMIN_TOKEN, which other users of the machine cannot see
  --receiver-host   address at which the platform reaches this machine (127.0.0.1); WEBHOOKS_ALLOWED_RANGES must
                    contain it
  --receiver-listen address to listen on (--receiver-host)`;

const staff = { name: 'Blake Box', email: 'blake@black-box.example' };
const allDay = [['00:00', '24:00']];

interface Entrances {
  gateway: string;
  admin: string;
  adminToken: string;
  receiverHost: string;
  receiverListen: string;
}

interface Delivery {
  id: string;
  event: string;
  event_id: string;
  status: string;
  response: { status: number; body: string } | null;
  tries: { number: number; status: number | null }[];
}

/** @throws Error that names the missing options when neither options nor demo.json name the platform */
function readOptions(): Entrances {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    options: {
      gateway: text,
      admin: text,
      'admin-token': text,
      'receiver-host': text,
      'receiver-listen': text,
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    console.log(usage);
    process.exit(0);
  }
  const file = resolve(import.meta.dirname, '../../.platform/demo.json');
  const demo: { gateway?: string; admin?: string; admin_token?: string } =
    values.gateway === undefined && existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  const gateway = values.gateway ?? demo.gateway;
  const admin = values.admin ?? demo.admin;
  const adminToken = values['admin-token'] ?? process.env.ADMIN_TOKEN ?? demo.admin_token;
  if (!gateway || !admin || !adminToken)
    throw new Error(`--gateway, --admin and --admin-token are required without .platform/demo.json\n\n${usage}`);
  const receiverHost = values['receiver-host'] ?? '127.0.0.1';
  return { gateway, admin, adminToken, receiverHost, receiverListen: values['receiver-listen'] ?? receiverHost };
}

async function makeAccount(manage: Send): Promise<{ account: string; keyId: string; key: string; testKey: string }> {
  const account = await step('the control plane creates an account', async () => {
    const body = { name: `Black box ${new Date().toISOString()}`, timezone: 'Europe/Berlin', country: 'DE' };
    return (await eventually(() => manage<{ id: string }>('POST', '/admin/accounts', { body }), 201)).body.id;
  });
  await step('the control plane adds a team member', async () =>
    expectStatus(await manage('POST', `/admin/accounts/${account}/members`, { body: staff }), 201),
  );
  return step('the control plane issues a live key and a test key', async () => {
    const makeKey = async (mode: 'live' | 'test') => {
      const body = { name: 'Black box', mode, scopes: ['*'] };
      const response = await manage<{ id: string; key: string }>('POST', `/admin/accounts/${account}/keys`, { body });
      return expectStatus(response, 201).body;
    };
    const { id: keyId, key } = await makeKey('live');
    return { account, keyId, key, testKey: (await makeKey('test')).key };
  });
}

async function prepareBooking(call: Send): Promise<{ contact: string; bookingType: number; startsAt: string }> {
  const contact = await step('a contact can be created', async () => {
    const body = { name: 'Casey Customer', phone: '+4930901820', email: 'casey@customer.example' };
    return (await eventually(() => call<{ id: string }>('POST', '/v1/cdp/contacts', { body }), 201)).body.id;
  });
  await step('a member becomes a teammate who takes bookings', async () => {
    const hours = Object.fromEntries(['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'].map((day) => [day, allDay]));
    await eventually(() => call('POST', '/v1/calendar/staff', { body: { email: staff.email, hours } }), 201, true);
  });
  const bookingType = await step('a booking type can be created', async () => {
    const body = { name: 'Consultation', duration_minutes: 30, staff: [staff.email], default_staff: staff.email };
    const response = await eventually(
      () => call<{ id: number }>('POST', '/v1/calendar/booking-types', { body }),
      201,
      true,
    );
    return response.body.id;
  });
  const startsAt = await step('free times are listed', async () => {
    const path = `/v1/calendar/free-times?booking_type=${bookingType}&limit=5`;
    const { data } = expectStatus(await call<{ data: { starts_at: string }[] }>('GET', path), 200).body;
    const last = data[4]; // the first may pass before it is booked
    if (last === undefined) throw new Error(`${data.length} free times were listed, expected 5`);
    return last.starts_at;
  });
  return { contact, bookingType, startsAt };
}

/** Books, retries the request, and attempts to book the same time again. Returns the appointment's id. */
async function book(call: Send, want: Awaited<ReturnType<typeof prepareBooking>>): Promise<string> {
  const body = { contact: want.contact, booking_type: want.bookingType, starts_at: want.startsAt };
  const keyed = () =>
    call<{ id: string; status: string }>('POST', '/v1/calendar/appointments', {
      body,
      headers: { 'idempotency-key': `black-box-${want.contact}` },
    });
  const first = await step('a listed time can be booked', async () => {
    const response = expectStatus(await keyed(), 201);
    expectThat(response.body.status === 'confirmed', `its status is ${response.body.status}: expected confirmed`);
    expectThat(!response.headers.has('idempotent-replayed'), 'the first response says that it is a replay');
    return response;
  });
  await step('the same request with its Idempotency-Key repeats the first response', async () => {
    const again = expectStatus(await keyed(), 201);
    expectThat(again.headers.get('idempotent-replayed') === 'true', 'Idempotent-Replayed: true is missing');
    expectThat(again.text === first.text, `the body differs:\n${first.text}\n${again.text}`);
  });
  await step('a taken time is rejected with 409 slot_taken', async () => {
    const other = await call<{ error: { code: string } }>('POST', '/v1/calendar/appointments', { body });
    const { code } = expectStatus(other, 409).body.error;
    expectThat(code === 'slot_taken', `the code is ${code}`);
  });
  return first.body.id;
}

/** Registers an endpoint before `act`, and checks the webhooks that `act` causes. */
async function checkWebhook(call: Send, options: Entrances, act: () => Promise<string>): Promise<void> {
  const receiver = await startReceiver(options.receiverListen);
  try {
    const url = `http://${options.receiverHost}:${receiver.port}/hook`;
    const endpoint = await step(`an endpoint can be registered (${url})`, async () => {
      const body = { url, events: ['appointment.booked'] };
      const send = () => call<{ id: string; secret: string }>('POST', '/v1/webhooks', { body });
      return (await eventually(send, 201)).body;
    });
    const appointment = await act();
    const delivery = await step('the endpoint receives the booking', () =>
      askUntil(
        async () => receiver.received.find(({ body }) => body.includes(appointment)),
        (found) => found !== undefined,
        () => `${receiver.received.length} other deliveries, but not the booking's`,
        patienceMs,
      ),
    );
    if (delivery === undefined) throw new Error('nothing was received');
    await step('the delivery is signed by Standard Webhooks', async () => {
      const forged = whyForged(delivery, endpoint.secret, Date.now());
      expectThat(forged === null, String(forged));
      const changed = { ...delivery, body: delivery.body.replace(appointment, 'another') };
      expectThat(
        whyForged(changed, endpoint.secret, Date.now()) !== null,
        'a changed body also passes the verification',
      );
    });
    await step('the delivery record shows one attempt with status 200', () => checkRecord(call, endpoint.id, delivery));
    const count = receiver.received.length;
    expectThat(count === 1, `${count} deliveries arrived for one booking and its replay, expected 1`);
  } finally {
    await receiver.close();
  }
}

async function checkRecord(call: Send, endpoint: string, sent: { headers: Record<string, string | undefined> }) {
  const list = await askUntil(
    async () => expectStatus(await call<{ data: Delivery[] }>('GET', `/v1/webhooks/${endpoint}/deliveries`), 200),
    ({ body }) => body.data[0]?.status === 'delivered',
    ({ text }) => `the list is ${text.slice(0, 500)}`,
    patienceMs,
  );
  const [record] = list.body.data;
  expectThat(list.body.data.length === 1, `${list.body.data.length} records, expected 1`);
  expectThat(record?.event === 'appointment.booked', `its event is ${record?.event}`);
  expectThat(record?.event_id === sent.headers['webhook-id'], 'its event_id is not the webhook-id that was sent');
  expectThat(record?.response?.status === 200, `its response is ${JSON.stringify(record?.response)}`);
  expectThat(record?.response?.body === 'thank you', `its response is ${JSON.stringify(record?.response)}`);
  expectThat(record?.tries.length === 1, `its tries are ${JSON.stringify(record?.tries)}`);
}

async function main(): Promise<void> {
  const options = readOptions();
  const manage = sender(options.admin, options.adminToken);
  await step('the platform is ready', async () => {
    const ready = () => sender(options.gateway, '')('GET', '/readyz').catch((error: Error) => error);
    const shown = (response: JsonResponse<unknown> | Error) =>
      response instanceof Error ? String(response.cause) : response.text;
    await askUntil(ready, (response) => !(response instanceof Error) && response.status === 200, shown, patienceMs);
  });
  await step('the control plane cannot be reached through the public port', async () =>
    expectThat(
      [401, 404].includes((await sender(options.gateway, options.adminToken)('GET', '/admin/accounts')).status),
      'the public port serves /admin/accounts',
    ),
  );
  const { account, keyId, key, testKey } = await makeAccount(manage);
  const call = sender(options.gateway, key);
  await step('the key shows its account', async () => {
    const me = expectStatus(await call<{ account: { id: string } }>('GET', '/v1/me'), 200).body;
    expectThat(me.account.id === account, `it shows ${me.account.id}, not ${account}`);
  });
  const want = await prepareBooking(call);
  await checkWebhook(call, options, () => book(call, want));
  await trade(call, want.contact);
  await converse(call, want.contact, options);
  await consult(sender(options.gateway, testKey));
  await step('a revoked key is rejected within a second', async () => {
    expectStatus(await manage('DELETE', `/admin/keys/${keyId}`), 204);
    const describe = ({ status }: JsonResponse<unknown>) => `status ${status}`;
    await askUntil(
      () => call('GET', '/v1/me'),
      ({ status }) => status === 401,
      describe,
      1_000,
    );
  });
  await step('the account can be suspended', async () =>
    expectStatus(await manage('PATCH', `/admin/accounts/${account}`, { body: { status: 'suspended' } }), 200),
  );
}

try {
  await main();
  console.log('All checks passed.');
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
