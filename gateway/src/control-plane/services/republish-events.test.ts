import { type Platform, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';

const dayMs = 86_400_000;
let platform: Platform;
let account: TestAccount;

beforeAll(async () => {
  platform = await startPlatform({ services: ['crm', 'webhooks'] });
  account = await platform.account();
});
afterAll(async () => {
  await platform?.stop();
});

const republish = (since: unknown, service?: string) =>
  platform.admin('POST', '/admin/events/republish', { since, service });
const ago = (ms: number) => new Date(platform.clock.now().getTime() - ms).toISOString();
const heard = () => platform.events(account.id).filter(({ type }) => type === 'deal.created').length;

it('publishes events again, and consumers accept only those they lack', async () => {
  for (const title of ['one', 'two', 'three']) await account.client.crm.deals.create({ body: { title } });
  const { client } = account;
  await waitFor(
    'the events',
    async () => (await client.events.list({ query: { type: 'deal.created' } })).data.length === 3,
  );
  const webhooks = platform.database('webhooks');
  await webhooks`delete from inbox where account_id = ${account.id}`;
  await webhooks`delete from events where account_id = ${account.id} and envelope like '%"two"%'`;
  const crm = platform.database('crm');
  await waitFor('them published', async () => (await crm`select 1 from outbox`).length === 0);
  const response = await republish(ago(60_000), 'crm');
  expect([response.status, response.body]).toEqual([202, { matched: 3 }]);
  await waitFor('all on the bus again', () => heard() === 6);
  const known = await waitFor('the lost one', async () => {
    const { data } = await client.events.list({ query: { type: 'deal.created' } });
    return data.length === 3 && data;
  });
  const titles = known.map(({ data }) => (data as { deal: { title: string } }).deal.title);
  expect(titles.sort()).toEqual(['one', 'three', 'two']);
  await waitFor('the request done', async () => (await crm`select 1 from republications`).length === 0);
});

it('does not publish events again that consumers may have forgotten, judged by their own age', async () => {
  const crm = platform.database('crm');
  const made = await Promise.all(
    ['old', 'young', 'late'].map((title) => account.client.crm.deals.create({ body: { title } })),
  );
  const published = async () => {
    const ids = made.map(({ id }) => String(id));
    return await crm<{ title: string; rounds: number }[]>`
      select envelope::json #>> '{data,deal,title}' as title, rounds from published
      where kind = 'deal.created' and envelope::json #>> '{data,deal,id}' = any(${ids}) order by title`;
  };
  await waitFor('them published', async () => (await published()).length === 3);
  // "old" was republished a day ago and is eight days old. "late" was published for the first time after a bus outage.
  await crm`
    update published set created_at = now() - interval '8 days', rounds = case when envelope like '%"old"%' then 1 else 0 end
    where envelope like '%"old"%' or envelope like '%"late"%'`;
  expect((await republish(ago(60_000), 'crm')).status).toBe(202);
  await waitFor('the request done', async () => (await crm`select 1 from republications`).length === 0);
  const rows = await waitFor('all back', async () => {
    const all = await published();
    return all.length === 3 && all;
  });
  expect(rows.map(({ title, rounds }) => [title, rounds])).toEqual([
    ['late', 1],
    ['old', 1],
    ['young', 1],
  ]);
});

it('counts at most 100,000 events, however many it publishes again', async () => {
  const crm = platform.database('crm');
  // These events are too old to be republished, so the test covers only the count.
  await crm`
    insert into published (account_id, sequence, id, kind, audience, envelope, rounds, created_at)
    select ${account.id}, -n, uuidv7(), 'deal.created', 'public', '{}', 1, now() - interval '8 days' from generate_series(1, 100001) as n`;
  expect((await republish(ago(60_000), 'crm')).body).toEqual({ matched: 100_000 });
  await crm`delete from published where account_id = ${account.id} and sequence < 0`;
});

it('matches nothing in the future, and refuses a time too long ago and an unknown service', async () => {
  expect((await republish(ago(-60_000), 'crm')).body).toEqual({ matched: 0 });
  for (const [since, service, field] of [
    [ago(7 * dayMs + 60_000), 'crm', 'since'],
    [undefined, 'crm', 'since'],
    ['yesterday', 'crm', 'since'],
    [ago(0), 'billing', 'service'],
  ] as const) {
    const response = await republish(since, service);
    expect([response.status, response.body.error.code, response.body.error.field]).toEqual([
      400,
      'invalid_request',
      field,
    ]);
  }
  expect((await republish(ago(7 * dayMs - 60_000), 'crm')).status).toBe(202);
});

it('names the services that do not respond, so that the request can be repeated', async () => {
  const response = await republish(ago(60_000));
  expect([response.status, response.body.error.code]).toEqual([503, 'service_unavailable']);
  expect(response.body.error.message).toMatch(/^calendar, agents, cdp, catalogue, messaging did not respond/);
}, 60_000);
