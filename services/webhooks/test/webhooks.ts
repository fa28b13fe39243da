import { createHmac, randomUUIDv7 } from 'node:crypto';
import type { Delivery, Endpoint } from '@customer-platform/contracts/webhooks';
import { type Database, inTransaction, type ReceivedEvent } from '@customer-platform/service-kit';
import {
  type Platform,
  type Received,
  type Receiver,
  startReceiver,
  type TestAccount,
  waitFor,
} from '@customer-platform/testkit';
import { takeEvents } from '../src/events/events.sql.ts';

/** Registers an endpoint with a receiver's URL. The response contains its secret. */
export function register(account: TestAccount, url: string, body: Partial<Pick<Endpoint, 'events' | 'active'>> = {}) {
  return account.client.webhooks.create({ body: { url, ...body } });
}

/** Adds a contact, so that the platform publishes `contact.created`. */
export function emitContactCreated(account: TestAccount, name = 'Ada') {
  return account.retryingClient.cdp.contacts.create({ body: { name } });
}

/** Makes the platform publish events of 120 kB. Each contains all fields of a contact twice, with new and previous values. */
export async function emitLarge(account: TestAccount, count: number): Promise<void> {
  const fieldsOf = (round: number) =>
    Object.fromEntries(
      Array.from({ length: 60 }, (_, index) => [`f${index}`, String.fromCharCode(97 + (round % 26)).repeat(1_000)]),
    );
  const { id } = await account.client.cdp.contacts.create({ body: { name: 'Large', fields: fieldsOf(0) } });
  for (let round = 1; round < count; round++) {
    await account.client.cdp.contacts.update({ params: { contact_id: id }, body: { fields: fieldsOf(round) } });
  }
}

/** Records events of an account as the consumer does, without the bus or notifications. `bytes` is the size of their data. */
export async function recordEvents(
  sql: Database,
  account: string,
  count: number,
  { type = 'deal.won', bytes = 10 } = {},
): Promise<void> {
  const events = Array.from({ length: count }, (): ReceivedEvent => {
    const data = { text: 'x'.repeat(bytes) };
    const timestamp = '2026-11-21T03:00:00Z';
    const content = { id: randomUUIDv7(), type, timestamp, account, mode: 'live', data } as const;
    return { ...content, sequence: 0, text: JSON.stringify(content), trace: undefined };
  });
  await inTransaction(sql, (tx) => takeEvents(tx, events, new Date(), new Date()));
}

/**
 * Stops the process named `owner`, or every process if undefined, from leasing further queues of these accounts.
 * Otherwise the fastest process might take all. Returns a function that undoes this.
 */
export async function keepFrom(sql: Database, owner: string | undefined, accountIds: readonly string[]) {
  const isOwner = owner === undefined ? '' : `and new.owner = '${owner}'`;
  const list = accountIds.map((id) => `'${id}'`).join();
  await sql.unsafe(`
    create function keep_from() returns trigger language plpgsql as 'begin return null; end';
    create trigger keep_from before update of owner on queues for each row
    when (old.owner is null ${isOwner} and new.account_id in (${list})) execute function keep_from()`);
  return () => sql`drop function keep_from cascade`;
}

/** Returns the deliveries to an endpoint, newest first. */
export async function deliveriesTo(account: TestAccount, endpointId: string): Promise<Delivery[]> {
  const page = await account.client.webhooks.deliveries.list({
    params: { endpoint_id: endpointId },
    query: { limit: 100 },
  });
  return page.data;
}

/** Waits for the newest delivery to an endpoint that `matches`. */
export function delivery(
  account: TestAccount,
  endpointId: string,
  matches: (delivery: Delivery) => boolean = (one) => one.status !== 'pending',
  timeoutMs?: number,
): Promise<Delivery> {
  const find = async () => (await deliveriesTo(account, endpointId)).find(matches);
  return waitFor('a delivery', find, timeoutMs);
}

/** Sends four events to a responding endpoint, which raises its cap to ten attempts in flight. */
export async function earnCap(account: TestAccount, endpointId: string): Promise<void> {
  await Promise.all([1, 2, 3, 4].map((i) => emitContactCreated(account, `Earns ${i}`)));
  await waitFor('its responses', async () => {
    const all = await deliveriesTo(account, endpointId);
    return all.filter((one) => one.status === 'delivered').length >= 4;
  });
}

/** Returns whether the secret made one of the request's signatures. Implements Standard Webhooks a second time, to check the first. */
export function isSignedBy(secret: string, { headers, body }: Received): boolean {
  const key = Buffer.from(secret.slice(6), 'base64');
  const text = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  const signature = `v1,${createHmac('sha256', key).update(text).digest('base64')}`;
  return String(headers['webhook-signature']).split(' ').includes(signature);
}

/** Creates an account with one endpoint at a receiver that responds with `status`. Adds the receiver to `receivers`, to be stopped. */
export async function openEndpoint(
  platform: Platform,
  receivers: Receiver[],
  [status, headers = {}, body = '']: EndpointResponse,
) {
  const account = await platform.account();
  const receiver = await startReceiver();
  receivers.push(receiver);
  const respondWith = (next: number) => {
    receiver.respond = (_, response) => response.writeHead(next, headers).end(body);
  };
  respondWith(status);
  const endpoint = await register(account, receiver.url);
  return { account, receiver, endpoint, params: { endpoint_id: endpoint.id }, respondWith };
}

/** Status, headers and body of a receiver's response. */
export type EndpointResponse = [status: number, headers?: Record<string, string>, body?: string];

export const hasTries = (count: number) => (one: { tries: unknown[] }) => one.tries.length === count;

/** Returns the ms from the end of a delivery's last attempt to the next one. */
export function waitMs(one: { next_try_at: string | null; tries: { at: string; duration_ms: number }[] }): number {
  const last = one.tries.at(-1)!;
  return Date.parse(one.next_try_at!) - Date.parse(last.at) - last.duration_ms;
}

/** Tolerance in ms for the time between the end of an attempt and its measurement. */
export const slackMs = 2000;
