import type { DeadEvent, Queue } from '@customer-platform/contracts/accounts';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { jetstream } from '@nats-io/jetstream';
import { connect, headers, type NatsConnection } from '@nats-io/transport-node';

let platform: Platform;
let nats: NatsConnection;

beforeAll(async () => {
  platform = await startPlatform({
    services: ['agents', 'calendar', 'catalogue', 'cdp', 'crm', 'messaging', 'webhooks'],
  });
  nats = await connect({ servers: platform.env('crm').NATS_URL! });
}, 120_000);
afterAll(async () => {
  await nats?.close();
  await platform?.stop();
});

const admin = (method: string, path: string, body?: unknown) => platform.admin(method, path, body);
/** Reads a list of dead events once all requested services reply in time. */
const dead = (filter: string): Promise<DeadEvent[]> =>
  waitFor('the services to reply', async () => {
    const { body } = await admin('GET', `/admin/dead?${filter}`);
    return body.gone.length === 0 && (body.data as DeadEvent[]);
  });

async function publish(text: string): Promise<void> {
  const { BUS_PREFIX: prefix } = platform.env('crm');
  const options = { headers: headers() };
  options.headers.set('Event-Sequence', '7');
  await jetstream(nats).publish(`${prefix}.event.public.crm.deal.created`, text, options);
}

it('dead events are listed with their reason, shown with their bytes, and requeued or dropped once', async () => {
  const before = (await dead('service=webhooks&limit=100')).length;
  await publish('no JSON');
  const [one] = await waitFor('it to be dead', async () => {
    const all = await dead('service=webhooks&queue=public-events&limit=100');
    return all.length === before + 1 && all;
  });
  expect(one).toEqual({
    id: expect.any(String),
    service: 'webhooks',
    queue: 'public-events',
    subject: expect.stringMatching(/deal\.created$/),
    account: null,
    kind: null,
    reason: expect.stringContaining('not an event'),
    tries: 1,
    size_bytes: 7,
    first_at: expect.any(String),
    dead_at: expect.any(String),
  });
  const { body: whole } = await admin('GET', `/admin/dead/${one!.id}`);
  expect(whole).toEqual({
    ...one,
    text: 'no JSON',
    bytes: Buffer.from('no JSON').toString('base64'),
    headers: expect.objectContaining({ 'Event-Sequence': '7' }),
  });
  const requeue = () => admin('POST', `/admin/dead/${one!.id}/requeue`);
  const requeued = await Promise.all([requeue(), requeue()]);
  expect(requeued.map(({ status }) => status).sort()).toEqual([204, 404]);
  expect((await admin('GET', `/admin/dead/${one!.id}`)).status).toBe(404);
  const again = await waitFor('it to die again', async () => {
    // Advance only between two attempts: past the lease of a running attempt the clock would start another one.
    const [waiting] = await platform.database('webhooks')<{ due_at: Date }[]>`
      select due_at from failed_events where dead_at is null and last_error is not null`;
    if (waiting && waiting.due_at > platform.clock.now()) platform.clock.set(waiting.due_at);
    return (await dead('service=webhooks&queue=public-events&limit=100')).find(
      ({ id }) => id !== one!.id && id > one!.id,
    );
  });
  expect(again).toMatchObject({ tries: 10, size_bytes: 7 });
  expect((await admin('POST', `/admin/dead/${again.id}/drop`, {})).body.error.field).toBe('reason');
  const drop = () => admin('POST', `/admin/dead/${again.id}/drop`, { reason: 'rubbish' });
  expect([(await drop()).status, (await drop()).status]).toEqual([204, 404]);
  const recorded = (await admin('GET', '/admin/audit?limit=2')).body.data;
  expect(recorded).toMatchObject([
    { action: 'dead.drop', target: 'webhooks/public-events', before: { id: again.id }, after: { reason: 'rubbish' } },
    { action: 'dead.requeue', target: 'webhooks/public-events', before: { id: one!.id } },
  ]);
});

it('dead events of one queue are requeued together, and the list has pages', async () => {
  const ofWebhooks = 'service=webhooks&limit=100';
  const before = (await dead(ofWebhooks)).length;
  for (const text of ['1', '2', '3']) await publish(text);
  await waitFor('them to be dead', async () => (await dead(ofWebhooks)).length === before + 3);
  const pages: string[] = [];
  for (let next: string | null = ''; next !== null && pages.length < 3; ) {
    const path = `/admin/dead?service=webhooks&limit=1${next && `&starting_after=${next}`}`;
    const { body }: { body: { data: DeadEvent[]; next: string | null } } = await admin('GET', path);
    pages.push(...body.data.map(({ id }) => id));
    next = body.next;
  }
  expect(pages).toEqual((await dead('service=webhooks&limit=3')).map(({ id }) => id));
  const counted = (await admin('GET', '/admin/queues/webhooks/public-events')).body.dead;
  const requeued = await admin('POST', '/admin/dead/requeue', { service: 'webhooks', queue: 'public-events' });
  expect([requeued.status, requeued.body]).toEqual([202, { matched: counted }]);
  const unknown = await admin('POST', '/admin/dead/requeue', { service: 'webhooks', queue: 'nothing' });
  expect([unknown.status, unknown.body.error.message]).toEqual([404, expect.stringContaining('it has:')]);
});

const nameOf = ({ service, queue }: Queue) => `${service}/${queue}`;

it('shows how many entries wait after a failure, for every queue with individual retries', async () => {
  const queues = await waitFor('all services to reply', async () => {
    const { body } = await admin('GET', '/admin/queues');
    return body.gone.length === 0 && (body.data as Queue[]);
  });
  expect(queues.length).toBeGreaterThan(20);
  const without = queues.filter(({ failed_waiting }) => failed_waiting === null).map(nameOf);
  expect(without.sort()).toEqual([
    'calendar/reminders',
    'cdp/audiences',
    'cdp/duplicates',
    'messaging/fallbacks',
    'messaging/receipts',
    'webhooks/replays',
  ]);
});

it('lists queues with failed entries as needing attention, not queues with entries due later', async () => {
  const sql = platform.database('crm');
  const insert = (reason: string | null) => sql`
    insert into outbox (account_id, id, kind, audience, envelope, reason, due_at)
    values (gen_random_uuid(), gen_random_uuid(), 'x.y', 'internal', '{}', ${reason}, '2100-01-01')`;
  await insert(null);
  const listed = () =>
    waitFor('crm to reply', async () => {
      const { body } = await admin('GET', '/admin/queues?attention=true');
      return !body.gone.includes('crm') && (body.data as Queue[]).map(nameOf);
    });
  expect(await listed()).not.toContain('crm/outbox');
  await insert('timeout');
  expect(await listed()).toContain('crm/outbox');
});
