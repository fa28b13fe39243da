import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { docsKeyFile, readJson, writeSecretFile, writeSecretJson } from '../platform-directory.ts';
import { type Call, type DemoChannel, makeDemoAgent } from './demo-agent.ts';
import { exampleMember, fillSandbox } from './demo-sandbox.ts';

/** Content of demo.json: URLs of the platform, and the demo account's keys. */
export interface Demo {
  gateway: string;
  admin: string;
  admin_token: string;
  account: string;
  keys: { live: string; test: string };
  /** Ids for the first request to try. */
  try: { contact: string; phone: string; booking_type: number };
  /** URL that receives the contact's WhatsApp messages. */
  whatsapp?: DemoChannel;
}

interface Entrances {
  gateway: string;
  admin: string;
  adminToken: string;
  /** URL of the process that simulates the demo account's providers. */
  simulated: string;
}

const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri'];
const dana = { name: 'Dana Demo', email: 'dana@demo.example' };
/** How long requests are retried, in milliseconds. Control plane events usually reach the services within a second. */
const retryMs = 15_000;
/** Fields that a service rejects until it has received the new member's event. */
const fieldsFromEvents = new Set<unknown>(['email', 'staff', 'default_staff']);

/** Returns the demo account of an earlier start if its live key still works, else creates one. Writes it to demo.json. */
export async function openDemo(directory: string, entrances: Entrances): Promise<Demo> {
  const file = join(directory, 'demo.json');
  const found = readJson<Demo>(file);
  const where = { gateway: entrances.gateway, admin: entrances.admin, admin_token: entrances.adminToken };
  const demo =
    found !== undefined && (await keyWorks(entrances.gateway, found.keys.live)) ? found : await makeDemo(entrances);
  const current: Demo = { ...demo, ...where };
  // The gateway's port may differ from the port at the start that created the channel.
  if (demo.whatsapp) current.whatsapp = { ...demo.whatsapp, hook_url: atOrigin(entrances.gateway, demo.whatsapp) };
  writeSecretJson(file, current);
  writeSecretFile(docsKeyFile(directory), `${current.keys.test}\n`);
  return current;
}

/** Returns the hook's URL at PUBLIC_URL if that is set, as messaging does, else at this start's gateway. */
function atOrigin(gateway: string, { hook_url }: DemoChannel): string {
  return new URL(new URL(hook_url).pathname, process.env.PUBLIC_URL || gateway).href;
}

async function keyWorks(gateway: string, key: string): Promise<boolean> {
  const response = await fetch(`${gateway}/v1/me`, { headers: { authorization: `Bearer ${key}` } });
  await response.body?.cancel();
  return response.status !== 401 && response.status !== 403;
}

async function makeDemo({ gateway, admin, adminToken, simulated }: Entrances): Promise<Demo> {
  const manage = <T>(path: string, body: object) => request<T>('POST', `${admin}${path}`, adminToken, body);
  const account = await manage<{ id: string; sandbox_id: string }>('/admin/accounts', {
    name: 'Demo',
    timezone: 'Europe/Berlin',
    country: 'DE',
    plan: { name: 'demo', api: true, modules: ['calendar', 'agents', 'cdp', 'catalogue', 'crm'] },
  });
  await manage(`/admin/accounts/${account.id}/members`, dana);
  for (const member of [dana, exampleMember]) await manage(`/admin/accounts/${account.sandbox_id}/members`, member);
  const makeKey = (mode: 'live' | 'test') =>
    manage<{ key: string }>(`/admin/accounts/${account.id}/keys`, { name: `Demo ${mode}`, mode, scopes: ['*'] });
  const [live, test] = [(await makeKey('live')).key, (await makeKey('test')).key];
  const call: Call = (method, path, body) => request(method, `${gateway}${path}`, live, body);
  const phone = '+4930901820';
  const contact = await call<{ id: string }>('POST', '/v1/cdp/contacts', {
    name: 'Casey Customer',
    phone,
    email: 'casey@customer.example',
  });
  const hours = Object.fromEntries(weekdays.map((day) => [day, [['09:00', '17:00']]]));
  await call('POST', '/v1/calendar/staff', { email: dana.email, hours });
  const bookingType = await call<{ id: number }>('POST', '/v1/calendar/booking-types', {
    name: 'Consultation',
    duration_minutes: 30,
    staff: [dana.email],
    default_staff: dana.email,
  });
  await fillSandbox((method, path, body) => request(method, `${gateway}${path}`, test, body));
  return {
    gateway,
    admin,
    admin_token: adminToken,
    account: account.id,
    keys: { live, test },
    try: { contact: contact.id, phone, booking_type: bookingType.id },
    whatsapp: await makeDemoAgent(call, simulated, contact.id),
  };
}

/**
 * Sends a JSON request. Retries temporary failures for retryMs: a service that has just started, or a member's event that has
 * not arrived.
 * @throws Error with the response's status and body
 */
async function request<T>(method: Parameters<Call>[0], url: string, token: string, body?: object): Promise<T> {
  const deadline = performance.now() + retryMs;
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'idempotency-key': randomUUID(),
  };
  for (;;) {
    const response = await fetch(url, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(retryMs),
    });
    const text = await response.text();
    if (response.ok) return JSON.parse(text) as T;
    const isTemporary = response.status === 503 || (response.status === 400 && fieldsFromEvents.has(errorField(text)));
    if (!isTemporary || performance.now() > deadline) {
      throw new Error(
        `could not create the demo account: ${method} ${new URL(url).pathname} returned ${response.status} ${text}`,
      );
    }
    if (response.status === 400) headers['idempotency-key'] = randomUUID(); // the old key would replay the 400
    await sleep(200);
  }
}

function errorField(text: string): unknown {
  return (JSON.parse(text) as { error?: { field?: unknown } }).error?.field;
}
