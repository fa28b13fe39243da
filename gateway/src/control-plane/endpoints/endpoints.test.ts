import { randomUUID } from 'node:crypto';
import {
  type Platform,
  type Receiver,
  startPlatform,
  startReceiver,
  type TestAccount,
  waitFor,
} from '@customer-platform/testkit';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';

let platform: Platform;
let receiver: Receiver;
let account: TestAccount;
let endpoint: string;

beforeAll(async () => {
  platform = await startPlatform({ services: ['crm', 'webhooks'] });
  receiver = await startReceiver();
});
afterAll(async () => {
  await Promise.all([platform?.stop(), receiver?.stop()]);
});
beforeEach(async () => {
  account = await platform.account();
  receiver.received.length = 0;
  receiver.respond = (_request, response) => response.writeHead(410).end('gone for good');
  endpoint = (await account.client.createEndpoint({ body: { url: receiver.url, events: ['deal.created'] } })).id;
});

const ago = (ms: number) => new Date(platform.clock.now().getTime() - ms).toISOString();
const read = (id = endpoint) => platform.admin('GET', `/admin/endpoints/${id}`);
const post = (verb: 'enable' | 'replay', body: object, id = endpoint) =>
  platform.admin('POST', `/admin/endpoints/${id}/${verb}`, body);
const createDeal = () => account.client.createDeal({ body: { title: 'a deal' } });

/** Lets a 410 Gone disable the endpoint, then lets the endpoint miss an event. */
async function switchOff(): Promise<void> {
  await createDeal();
  const statuses = async () => (await read()).body.deliveries.map(({ status }: { status: string }) => status).join();
  await waitFor('disabling', async () => (await read()).body.active === false && (await statuses()) === 'failed');
  await createDeal();
  await waitFor('it to miss one', async () => (await statuses()) === 'skipped,failed');
}

it('an endpoint is shown with its last deliveries, their responses and their errors', async () => {
  await switchOff();
  const { status, body } = await read();
  const delivery = { id: expect.any(String), event: 'deal.created', event_id: expect.any(String), trace_id: null };
  expect([status, body]).toEqual([
    200,
    {
      id: endpoint,
      account: account.id,
      url: receiver.url,
      description: '',
      events: ['deal.created'],
      active: false,
      paused: false,
      disabled_reason: 'The endpoint responded with 410 Gone.',
      failing_since: expect.any(String),
      pending: 0,
      last_error: null,
      last_error_at: null,
      last_error_trace_id: null,
      deliveries: [
        {
          ...delivery,
          status: 'skipped',
          tries: 0,
          at: expect.any(String),
          response_status: null,
          error: null,
          response: null,
        },
        {
          ...delivery,
          status: 'failed',
          tries: 1,
          at: expect.any(String),
          response_status: 410,
          error: 'HTTP 410',
          response: 'gone for good',
        },
      ],
    },
  ]);
});

it('an endpoint disabled by a 410 is enabled, and missed events are replayed; both are recorded with their reason', async () => {
  await switchOff();
  const since = ago(3_600_000);
  const early = await post('replay', { since });
  expect([early.status, early.body.error.code]).toEqual([409, 'invalid_state']);
  receiver.respond = (_request, response) => response.writeHead(204).end();
  expect((await post('enable', { reason: 'they fixed it' })).status).toBe(204);
  expect((await read()).body).toMatchObject({ active: true, disabled_reason: null, failing_since: null });
  const replayed = await post('replay', { since, reason: 'they missed two' });
  expect([replayed.status, replayed.body]).toEqual([202, { matched: 2 }]);
  await waitFor('both to be delivered', async () =>
    (await read()).body.deliveries.every(({ status }: { status: string }) => status === 'delivered'),
  );
  await createDeal();
  await waitFor('a new event', () => receiver.received.length === 4);
  // Enabling an active endpoint changes nothing.
  expect((await post('enable', {})).status).toBe(204);
  const { body } = await platform.admin('GET', `/admin/audit?account=${account.id}&limit=2`);
  const recorded = { actor: 'admin', account: account.id, target: `endpoints/${endpoint}` };
  expect(body.data).toMatchObject([
    { ...recorded, action: 'endpoints.replay', reason: 'they missed two', after: { since, matched: 2 } },
    {
      ...recorded,
      action: 'endpoints.enable',
      reason: 'they fixed it',
      before: { active: false, disabled_reason: 'The endpoint responded with 410 Gone.' },
      after: { active: true },
    },
  ]);
});

it('an unknown or malformed id is 404; an invalid period or reason is 400 and names the field', async () => {
  const since = ago(3_600_000);
  for (const id of [randomUUID(), 'none']) {
    const refused = [await read(id), await post('enable', {}, id), await post('replay', { since }, id)];
    expect(refused.map(({ status, body }) => [status, body.error.code])).toEqual(Array(3).fill([404, 'not_found']));
  }
  const fields = [
    await post('replay', {}),
    await post('replay', { since: ago(-60_000) }),
    await post('enable', { reason: 'x'.repeat(201) }),
  ];
  expect(fields.map(({ status, body }) => [status, body.error.field])).toEqual([
    [400, 'since'],
    [400, 'since'],
    [400, 'reason'],
  ]);
});
