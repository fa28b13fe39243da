import type { Queue } from '@customer-platform/contracts/accounts';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';

let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform({
    services: ['agents', 'calendar', 'catalogue', 'cdp', 'crm', 'messaging', 'webhooks'],
  });
}, 120_000);
afterAll(async () => await platform?.stop());

const nameOf = ({ service, queue }: Queue) => `${service}/${queue}`;

it('says how many entries wait after a failure, of every queue whose entries do so one by one', async () => {
  const queues = await waitFor('all services to reply', async () => {
    const { body } = await platform.admin('GET', '/admin/queues');
    return body.gone.length === 0 && (body.data as Queue[]);
  });
  expect(queues.length).toBeGreaterThan(20);
  const without = queues.filter(({ failed_waiting }) => failed_waiting === undefined).map(nameOf);
  expect(without.sort()).toEqual([
    'calendar/reminders',
    'cdp/audiences',
    'cdp/duplicates',
    'messaging/fallbacks',
    'messaging/receipts',
    'webhooks/replays',
  ]);
});

it('lists by attention what is failed, and not what is only due', async () => {
  const sql = platform.database('crm');
  const insert = (reason: string | null) => sql`
    insert into outbox (account_id, id, kind, audience, envelope, reason, due_at)
    values (gen_random_uuid(), gen_random_uuid(), 'x.y', 'internal', '{}', ${reason}, '2100-01-01')`;
  await insert(null);
  const listed = () =>
    waitFor('crm to reply', async () => {
      const { body } = await platform.admin('GET', '/admin/queues?attention=true');
      return !body.gone.includes('crm') && (body.data as Queue[]).map(nameOf);
    });
  expect(await listed()).not.toContain('crm/outbox');
  await insert('timeout');
  expect(await listed()).toContain('crm/outbox');
});
