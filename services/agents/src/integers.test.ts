import { startPlatform } from '@customer-platform/testkit';
import { afterAll, expect, it } from '@jest/globals';
import { blocks, openCrew } from '../test/agents.ts';

const platform = await startPlatform({ services: ['cdp', 'crm', 'messaging', 'agents'] });
afterAll(() => platform.stop());

const crew = await openCrew(platform);
const { client } = crew.account;
const { id: agent } = await crew.liveAgent();
const { id: contact } = await client.cdp.contacts.create({ body: { name: 'Casey', phone: '+493010000001' } });
const { id: plan } = await client.agents.plans.request({ params: { agent_id: agent }, body: { contact } });

/** The maximum of an integer column, one more, the maximum safe integer, one more, and a number beyond bigint. */
const large = ['2147483647', '2147483648', '9007199254740991', '9007199254740992', '99999999999999999999'];
const statusOf = async (method: string, path: string, body?: unknown) =>
  (await crew.account.request(method, `/v1/agents${path}`, body === undefined ? {} : { body })).status;

type BodyWith = (number: number) => object;
const article = (more: object) => ({ kind: 'article', title: 'A', body: 'B', ...more });

/** Requests with the number in place of `#`, and their allowed statuses. */
const requests: [statuses: number[], method: string, path: string, body?: BodyWith][] = [
  [[404], 'GET', '/#'],
  [[404], 'PATCH', '/#', () => ({ name: 'B' })],
  [[404], 'DELETE', '/#'],
  [[404], 'POST', '/#/pause'],
  [[404], 'POST', '/#/go-live'],
  [[404], 'POST', '/#/plans', () => ({ contact: 'a' })],
  [[404], 'GET', '/#/workflow/draft'],
  [[404], 'PUT', '/#/workflow/draft', () => ({ blocks })],
  [[404], 'POST', '/#/workflow/publish'],
  [[404], 'GET', '/#/workflow/versions'],
  [[404], 'GET', `/${agent}/workflow/versions/#`],
  // A missing version returns 409; a number that is not a valid id returns 404.
  [[404, 409], 'POST', `/${agent}/workflow/versions/#/rollback`],
  [[404], 'GET', '/plans/#'],
  [[404], 'POST', '/plans/#/cancel'],
  [[404], 'POST', `/plans/${plan}/steps/#/approve`],
  [[404], 'PATCH', `/plans/${plan}/steps/#`, () => ({ body: 'B' })],
  [[404], 'DELETE', '/knowledge/collections/#'],
  [[400], 'GET', '?starting_after=#'],
  [[400], 'GET', `/${agent}/workflow/versions?starting_after=#`],
  [[400], 'GET', '/plans?agent=#'],
  [[400], 'GET', '/plans?starting_after=#'],
  [[400], 'GET', '/knowledge/sources?collection=#'],
  [[400], 'GET', '/knowledge/collections?starting_after=#'],
  [[400], 'GET', '/usage?days=#'],
  [[400], 'PATCH', `/${agent}`, (number) => ({ pipelines: [number] })],
  [[400], 'PATCH', `/${agent}`, (number) => ({ collections: [number] })],
  [[400], 'PATCH', `/${agent}`, (number) => ({ approval_timeout_seconds: number })],
  [[400], 'POST', '/knowledge/sources', (collection) => article({ collection })],
  [[400], 'POST', '/knowledge/search', (collection) => ({ query: 'a', collection })],
  [[400], 'PATCH', '/settings', (number) => ({ pipeline_budgets: { [number]: 5 } })],
  [[200, 400], 'PATCH', `/${agent}`, (number) => ({ daily_limit: number })],
  [[200, 400], 'PATCH', '/settings', (number) => ({ daily_budget: number })],
];
it.each(requests)('a large number leads to %j: %s %s', async (statuses, method, path, body = () => ({})) => {
  for (const number of large) {
    const given = method === 'GET' ? undefined : body(Number(number));
    expect([number, statuses]).toEqual([
      number,
      expect.arrayContaining([await statusOf(method, path.replace('#', number), given)]),
    ]);
  }
});

it.each(large)('%s in a draft is refused, or found broken by a rollback', async (number) => {
  const parts = { pipeline: Number(number), stage: Number(number), collection: Number(number) };
  const status = await statusOf('PUT', `/${agent}/workflow/draft`, { blocks: [{ id: 'a', kind: 'ai', ...parts }] });
  expect([200, 400]).toContain(status);
  if (status !== 200) return;
  const publish = () => client.agents.workflow.publish({ params: { agent_id: agent }, body: {} });
  const { number: version } = await publish();
  await publish();
  expect(await statusOf('POST', `/${agent}/workflow/versions/${version}/rollback`)).toBe(409);
});
