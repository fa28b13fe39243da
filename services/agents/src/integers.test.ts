import { startPlatform } from '@customer-platform/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { blocks, openCrew } from '../test/agents.ts';

const platform = await startPlatform({ services: ['cdp', 'crm', 'messaging', 'agents'] });
const crew = await openCrew(platform);
const agent = (await crew.liveAgent()).id;
const contact = await crew.account.client.createContact({ body: { name: 'Casey', phone: '+493010000001' } });
const plan = (await crew.account.client.requestPlan({ params: { agent_id: agent }, body: { contact: contact.id } })).id;
afterAll(() => platform.stop());

/** Maximum of an integer column, one more; maximum safe integer, one more; and a number beyond bigint. */
const large = ['2147483647', '2147483648', '9007199254740991', '9007199254740992', '99999999999999999999'];

const statusOf = async (method: string, path: string, body?: unknown) =>
  (await crew.account.request(method, `/v1/agents${path}`, body === undefined ? {} : { body })).status;

describe.each(large)('%s', (number) => {
  it('in a path names nothing', async () => {
    const paths: [string, string, unknown?][] = [
      ['GET', `/${number}`],
      ['PATCH', `/${number}`, { name: 'B' }],
      ['DELETE', `/${number}`],
      ['POST', `/${number}/pause`, {}],
      ['POST', `/${number}/go-live`, {}],
      ['POST', `/${number}/plans`, { contact: 'a' }],
      ['GET', `/${number}/workflow/draft`],
      ['PUT', `/${number}/workflow/draft`, { blocks }],
      ['POST', `/${number}/workflow/publish`, {}],
      ['GET', `/${number}/workflow/versions`],
      ['GET', `/${agent}/workflow/versions/${number}`],
      ['GET', `/plans/${number}`],
      ['POST', `/plans/${number}/cancel`, {}],
      ['POST', `/plans/${plan}/steps/${number}/approve`, {}],
      ['PATCH', `/plans/${plan}/steps/${number}`, { body: 'B' }],
      ['DELETE', `/knowledge/collections/${number}`],
    ];
    for (const [method, path, body] of paths) {
      expect([method, path, await statusOf(method, path, body)]).toEqual([method, path, 404]);
    }
    // A missing version is 409; a number that is no valid id, 404.
    expect([404, 409]).toContain(await statusOf('POST', `/${agent}/workflow/versions/${number}/rollback`));
  });

  it('in a query is refused', async () => {
    for (const path of [
      `?starting_after=${number}`,
      `?limit=${number}`,
      `/${agent}/workflow/versions?starting_after=${number}`,
      `/${agent}/workflow/versions?limit=${number}`,
      `/plans?agent=${number}`,
      `/plans?starting_after=${number}`,
      `/knowledge/sources?collection=${number}`,
      `/knowledge/collections?starting_after=${number}`,
      `/usage?days=${number}`,
    ]) {
      expect([path, await statusOf('GET', path)]).toEqual([path, 400]);
    }
  });

  it('in a body is refused', async () => {
    const given = Number(number);
    const article = { kind: 'article', title: `A ${number}`, body: 'B' };
    const bodies: [string, string, unknown][] = [
      ['PATCH', `/${agent}`, { pipelines: [given] }],
      ['PATCH', `/${agent}`, { collections: [given] }],
      ['PATCH', `/${agent}`, { approval_timeout_seconds: given }],
      ['POST', '/knowledge/sources', { ...article, collection: given }],
      ['POST', '/knowledge/search', { query: 'a', collection: given }],
      ['POST', '/knowledge/search', { query: 'a', limit: given }],
      ['PATCH', '/settings', { pipeline_budgets: { [number]: 5 } }],
    ];
    for (const [method, path, body] of bodies) {
      expect([path, body, await statusOf(method, path, body)]).toEqual([path, body, 400]);
    }
  });

  it('in a body that may hold it is kept as it is, or refused', async () => {
    const given = Number(number);
    expect([200, 400]).toContain(await statusOf('PATCH', `/${agent}`, { daily_limit: given }));
    expect([200, 400]).toContain(await statusOf('PATCH', '/settings', { daily_budget: given }));
    const parts = { pipeline: given, stage: given, collection: given };
    const draft = { blocks: [{ id: 'a', kind: 'ai', ...parts }] };
    const status = await statusOf('PUT', `/${agent}/workflow/draft`, draft);
    expect([200, 400]).toContain(status);
    if (status !== 200) return;
    const publish = () => crew.account.client.publishWorkflow({ params: { agent_id: agent }, body: {} });
    const { number: version } = await publish();
    await publish();
    expect(await statusOf('POST', `/${agent}/workflow/versions/${version}/rollback`)).toBe(409);
  });
});
