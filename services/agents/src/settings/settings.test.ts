import { parseSecretKeys } from '@customer-platform/outbound';
import { startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { type Crew, invalid, openCrew } from '../../test/agents.ts';
import { apiKeyOf } from './api-key.ts';
import { selectSettings } from './settings.sql.ts';

const platform = await startPlatform({ services: ['cdp', 'crm', 'agents'] });
const database = platform.database('agents');
afterAll(() => platform.stop());

const path = '/v1/agents/settings';
const patch = (crew: Crew, body: unknown) => crew.account.request('PATCH', path, { body });
const get = (crew: Crew) => crew.account.client.agents.settings.get();
const changed = async (crew: Crew, body: Record<string, unknown>) =>
  await crew.account.client.agents.settings.update({ body });
const storedKey = async (crew: Crew) => {
  const keys = parseSecretKeys(platform.env('agents').AGENTS_SECRET_KEY!);
  return apiKeyOf(keys, await selectSettings(database, crew.account.id));
};
const url = 'http://127.0.0.1:9/v1';

describe('the settings', () => {
  it('start empty, are changed by key, and belong to one account', async () => {
    const [crew, stranger] = [await openCrew(platform), await openCrew(platform)];
    const defaults = await get(crew);
    expect(defaults).toEqual({
      provider: 'openai_compatible',
      base_url: '',
      api_key_set: false,
      model: '',
      daily_budget: null,
      pipeline_budgets: {},
      prices: {},
    });
    expect(await changed(crew, {})).toEqual(defaults);
    const given = {
      base_url: url,
      model: 'gpt-9',
      daily_budget: 5_000,
      prices: { 'gpt-9': { prompt: 2.5, completion: 10 } },
    };
    const after = { ...defaults, ...given };
    expect(await changed(crew, given)).toEqual(after);
    expect(await get(crew)).toEqual(after);
    expect(await changed(crew, { daily_budget: null, model: '' })).toEqual({ ...after, daily_budget: null, model: '' });
    expect(await get(stranger)).toEqual(defaults);
    expect(await crew.account.testClient.agents.settings.get()).toEqual(defaults);
  });

  it('merge budgets and prices by key, and null removes an entry', async () => {
    const crew = await openCrew(platform);
    const other = await crew.account.client.crm.pipelines.create({
      body: { name: 'Other', stages: [{ name: 'One' }] },
    });
    const price = (prompt: number) => ({ prompt, completion: prompt });
    await changed(crew, { pipeline_budgets: { [crew.pipeline.id]: 10 }, prices: { a: price(1) } });
    const both = await changed(crew, { pipeline_budgets: { [other.id]: 20 }, prices: { b: price(2), a: price(3) } });
    expect(both).toMatchObject({
      pipeline_budgets: { [crew.pipeline.id]: 10, [other.id]: 20 },
      prices: { a: price(3), b: price(2) },
    });
    const fewer = await changed(crew, {
      pipeline_budgets: { [crew.pipeline.id]: null, 999999: null },
      prices: { a: null },
    });
    expect([fewer.pipeline_budgets, fewer.prices]).toEqual([{ [other.id]: 20 }, { b: price(2) }]);
  });

  it('lose nothing of concurrent changes', async () => {
    const crew = await openCrew(platform);
    const models = Array.from({ length: 20 }, (_, index) => `model-${index}`);
    await Promise.all(models.map((model) => patch(crew, { prices: { [model]: { prompt: 1, completion: 1 } } })));
    expect(Object.keys((await get(crew)).prices).sort()).toEqual(models.sort());
  });

  it.each([
    ['provider', 'other'],
    ['base_url', 'x'.repeat(2_049)],
    ['base_url', 'not a url'],
    ['base_url', 'ftp://127.0.0.1/'],
    ['base_url', 'https://ada:secret@example.com/v1'],
    ['base_url', 'https://example.com/v1?key=x'],
    ['base_url', 'https://example.com/v1#x'],
    ['base_url', 'https://10.0.0.1/v1'],
    ['base_url', 'https://[::ffff:10.0.0.1]/v1'],
    ['base_url', 'http://93.184.215.14/v1'],
    ['api_key', 'x'.repeat(501)],
    ['api_key', 'two\nlines'],
    ['api_key', 'schlüssel'],
    ['model', 'x'.repeat(201)],
    ['daily_budget', 0],
    ['pipeline_budgets', { x: 1 }],
    ['pipeline_budgets', { 1: 0 }],
    ['prices', { m: { prompt: 1 } }],
    ['prices', { m: { prompt: -1, completion: 1 } }],
    ['prices', { m: { prompt: 1, completion: 1_000_001 } }],
    ['prices', Object.fromEntries(Array.from({ length: 1_001 }, (_, at) => [`m${at}`, { prompt: 1, completion: 1 }]))],
  ])('refuse a wrong %s (%#)', async (field, value) => {
    const crew = await openCrew(platform);
    const before = await get(crew);
    expect(await patch(crew, { model: 'new', [field]: value })).toMatchObject(invalid(field));
    expect(await get(crew)).toEqual(before);
  });

  it("have budgets only for the account's pipelines, and keep existing ones after a pipeline is deleted", async () => {
    const [crew, stranger] = [await openCrew(platform), await openCrew(platform)];
    const gone = await crew.account.client.crm.pipelines.create({ body: { name: 'Gone', stages: [{ name: 'One' }] } });
    const refused = await patch(crew, { pipeline_budgets: { [crew.pipeline.id]: 1, [stranger.pipeline.id]: 1 } });
    expect(refused).toMatchObject(
      invalid('pipeline_budgets', new RegExp(`not ${RegExp.escape(String(stranger.pipeline.id))}$`)),
    );
    await changed(crew, { pipeline_budgets: { [gone.id]: 1 } });
    await crew.account.client.crm.pipelines.delete({ params: { pipeline_id: gone.id } });
    expect(await changed(crew, { pipeline_budgets: { [gone.id]: 2 } })).toMatchObject({
      pipeline_budgets: { [gone.id]: 2 },
    });
    await platform.admin('PATCH', `/admin/accounts/${crew.account.id}`, { modules: { crm: { on: false } } });
    const off = { pipeline_budgets: { [crew.pipeline.id]: 1 } };
    await waitFor('Pipelines to be off', async () => (await patch(crew, off)).status === 400);
    expect(await patch(crew, off)).toMatchObject(invalid('pipeline_budgets', /Pipelines/));
  });
});

describe('the base URL', () => {
  it('is stored without trailing slashes, and removed by ""', async () => {
    const crew = await openCrew(platform);
    expect((await changed(crew, { base_url: `${url}///` })).base_url).toBe(url);
    expect((await changed(crew, { base_url: '' })).base_url).toBe('');
  });

  it('may be a host name that does not resolve yet', async () => {
    const crew = await openCrew(platform);
    const named = 'https://ai.invalid/v1';
    expect((await changed(crew, { base_url: named, pipeline_budgets: { [crew.pipeline.id]: 5 } })).base_url).toBe(
      named,
    );
    expect(await patch(crew, { base_url: 'https://other.invalid', pipeline_budgets: { 999999: 5 } })).toMatchObject(
      invalid('pipeline_budgets'),
    );
    expect((await get(crew)).base_url).toBe(named);
    const local = await patch(crew, { base_url: 'http://ai.invalid/v1' });
    expect(local).toMatchObject(invalid('base_url', /^base_url must begin with https/));
    const none = await patch(crew, { base_url: 'api.openai.com' });
    expect(none).toMatchObject(invalid('base_url', /^base_url .*such as https:\/\/api\.openai\.com\/v1$/));
  });
});

describe('the API key', () => {
  const secret = 'sk-very-secret-7';

  it('is never returned, and is stored encrypted', async () => {
    const crew = await openCrew(platform);
    const set = await patch(crew, { base_url: url, api_key: secret });
    const read = await crew.account.request('GET', path);
    expect([set.status, set.body.api_key_set, read.body.api_key_set]).toEqual([200, true, true]);
    expect(set.text + read.text).not.toContain(secret);
    const rows = await database`select s.*::text as row, encode(api_key, 'escape') as bytes
      from settings s where account_id = ${crew.account.id}`;
    expect(JSON.stringify(rows)).not.toContain(secret);
    expect(await storedKey(crew)).toBe(secret);
    expect(await changed(crew, { model: 'm' })).toMatchObject({ api_key_set: true });
    expect(await changed(crew, { api_key: '' })).toMatchObject({ api_key_set: false });
    expect(await storedKey(crew)).toBeNull();
  });

  it('cannot be decrypted in another account’s row', async () => {
    const [crew, other] = [await openCrew(platform), await openCrew(platform)];
    await changed(crew, { api_key: secret });
    await changed(other, { api_key: 'another' });
    await database`update settings set api_key = (select api_key from settings where account_id = ${crew.account.id})
      where account_id = ${other.account.id}`;
    await expect(storedKey(other)).rejects.toThrow();
  });

  it('stays if only the path changes, is dropped with another origin, and can be set together with one', async () => {
    const crew = await openCrew(platform);
    await changed(crew, { api_key: secret });
    expect(await changed(crew, { base_url: url })).toMatchObject({ api_key_set: true });
    expect(await changed(crew, { base_url: 'http://127.0.0.1:9/v2' })).toMatchObject({ api_key_set: true });
    expect(await changed(crew, { base_url: 'http://127.0.0.1:10/v2' })).toMatchObject({ api_key_set: false });
    expect(await storedKey(crew)).toBeNull();
    await changed(crew, { api_key: secret });
    expect(await changed(crew, { base_url: url, api_key: 'new' })).toMatchObject({ api_key_set: true });
    expect(await storedKey(crew)).toBe('new');
    expect(await changed(crew, { base_url: '' })).toMatchObject({ api_key_set: false });
    expect(await changed(crew, { base_url: 'http://127.0.0.1:10' })).toMatchObject({ api_key_set: false });
  });
});
