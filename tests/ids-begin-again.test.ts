import { operations } from '@customer-platform/contracts';
import { type Platform, startPlatform, type TestAccount } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { integersOf } from './integers-of.ts';
import { endSeeds, Seed } from './seed.ts';

/** The last integer id. All accounts share one sequence, and an account that replaces stages all day reaches it in two months. */
const last = 2_147_483_647;
/** Tables whose ids the API shows as integers, by service. */
const numbered = {
  cdp: ['duplicates'],
  calendar: ['booking_types'],
  crm: ['pipelines', 'stages'],
  agents: ['agents', 'collections', 'plans', 'plan_steps'],
} as const;
const modules = ['cdp', 'calendar', 'crm', 'messaging', 'agents'] as const;

let platform: Platform;
let account: TestAccount;
let seed: Seed;

beforeAll(async () => {
  platform = await startPlatform({ services: [...modules] });
  for (const [name, tables] of Object.entries(numbered)) {
    const sql = platform.database(name as keyof typeof numbered);
    for (const table of tables) await sql`select setval(${`${table}_id_seq`}, ${last - 1})`;
  }
  account = await platform.account({ timezone: 'UTC' });
  await platform.admin('POST', `/admin/accounts/${account.id}/members`, { name: 'Ada', email: 'ada@example.com' });
  seed = new Seed(account, platform.clock.now());
  // This gives the agent a workflow.
  await seed.id('number');
}, 60_000);
afterAll(async () => {
  await endSeeds();
  await platform?.stop();
});

const reads = operations.filter(
  ({ service, method, params }) =>
    method === 'GET' && modules.some((name) => name === service) && integersOf(params).length > 0,
);

it.each(reads.map(({ key, path }) => [key, path]))('%s reads the resource with the last id', async (_key, path) => {
  expect(await account.request('GET', await seed.path(path))).toMatchObject({ status: 200 });
});

it('restart at 1, and identify the right resource in this service and in others', async () => {
  const { client } = account;
  const pipeline = await client.crm.pipelines.create({
    body: { name: 'Second', stages: ['New', 'Won'].map((name) => ({ name })) },
  });
  const agent = await client.agents.create({ body: { name: 'Second', role: 'Sells', pipelines: [pipeline.id] } });
  const collection = await client.agents.knowledge.collections.create({ body: { name: 'Second' } });
  const staff = [String(await seed.id('email'))];
  const type = await client.calendar.bookingTypes.create({ body: { name: 'Second', duration_minutes: 30, staff } });
  for (const { id } of [pipeline, agent, collection, type, ...pipeline.stages]) expect(id).toBeLessThan(100);
  expect((await client.crm.pipelines.get({ params: { pipeline_id: pipeline.id } })).name).toBe('Second');
  expect((await client.agents.get({ params: { agent_id: agent.id } })).pipelines).toEqual([pipeline.id]);
  expect((await client.calendar.bookingTypes.get({ params: { booking_type_id: type.id } })).name).toBe('Second');
  const deal = await client.crm.deals.create({
    body: { title: 'A deal', pipeline: pipeline.id, stage: pipeline.stages[1]!.id },
  });
  expect(deal).toMatchObject({ pipeline: { id: pipeline.id }, stage: { id: pipeline.stages[1]!.id } });
});
