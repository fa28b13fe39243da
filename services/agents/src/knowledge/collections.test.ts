import { startPlatform } from '@customer-platform/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { invalid, openLibrary } from '../../test/knowledge.ts';

const platform = await startPlatform({ services: ['agents'] });
afterAll(() => platform.stop());

describe('General', () => {
  it('exists from the first request on, exactly once, even with concurrent requests', async () => {
    const library = await openLibrary(platform);
    const responses = await Promise.all(Array.from({ length: 20 }, () => library.request('GET', '/collections')));
    expect(new Set(responses.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(responses[0]!.body.data).toEqual([{ id: expect.any(Number), name: 'General' }]);
  });

  it('takes sources that name no collection, even if many arrive before it exists', async () => {
    const library = await openLibrary(platform);
    const sources = await Promise.all(Array.from({ length: 20 }, (_, index) => library.article(`Article ${index}`)));
    const { body } = await library.request('GET', '/collections');
    expect(body.data).toHaveLength(1);
    expect(new Set(sources.map(({ collection }) => JSON.stringify(collection)))).toEqual(
      new Set([JSON.stringify(body.data[0])]),
    );
  });

  it('precedes a collection that is created first, and cannot be deleted', async () => {
    const library = await openLibrary(platform);
    const made = await library.request('POST', '/collections', { name: 'Prices' });
    const { body } = await library.request('GET', '/collections');
    expect(body).toEqual({
      data: [{ id: expect.any(Number), name: 'General' }, made.body],
      has_more: false,
      next: null,
    });
    const response = await library.request('DELETE', `/collections/${body.data[0].id}`);
    expect(response).toMatchObject({ status: 409, body: { error: { code: 'invalid_state' } } });
  });
});

describe('a collection', () => {
  it('has a trimmed name that is unique regardless of case, even with concurrent requests', async () => {
    const library = await openLibrary(platform);
    const names = Array.from({ length: 20 }, (_, index) => (index % 2 ? 'Prices' : ' PRICES '));
    const responses = await Promise.all(names.map((name) => library.request('POST', '/collections', { name })));
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const response of responses.filter(({ status }) => status !== 201))
      expect(response).toMatchObject(invalid('name'));
    expect(await library.request('POST', '/collections', { name: 'general' })).toMatchObject(invalid('name'));
  });

  it('has a name of 1 to 120 characters', async () => {
    const library = await openLibrary(platform);
    const add = (name: unknown) => library.request('POST', '/collections', { name });
    expect(await add('n'.repeat(120))).toMatchObject({ status: 201 });
    for (const name of ['n'.repeat(121), '', '  ', 7]) expect(await add(name)).toMatchObject(invalid('name'));
    expect(await library.request('POST', '/collections', {})).toMatchObject(invalid('name'));
  });

  it('is deleted once it has no sources', async () => {
    const library = await openLibrary(platform);
    const { body: collection } = await library.request('POST', '/collections', { name: 'Prices' });
    const source = await library.article('Prices', { collection: collection.id });
    const remove = () => library.request('DELETE', `/collections/${collection.id}`);
    expect(await remove()).toMatchObject({ status: 409, body: { error: { code: 'invalid_state' } } });
    await library.request('DELETE', `/sources/${source.id}`);
    expect(await remove()).toMatchObject({ status: 204 });
    expect(await remove()).toMatchObject({ status: 404 });
  });

  it('is not deleted if a source is added at the same moment', async () => {
    const library = await openLibrary(platform);
    for (let round = 0; round < 10; round++) {
      const { body: collection } = await library.request('POST', '/collections', { name: `Round ${round}` });
      const source = { kind: 'article', title: `Round ${round}`, body: 'x', collection: collection.id };
      const [added, removed] = await Promise.all([
        library.request('POST', '/sources', source),
        library.request('DELETE', `/collections/${collection.id}`),
      ]);
      expect([`${added.status} ${removed.status}`]).toEqual([expect.stringMatching(/^(201 409|400 204)$/)]);
      if (added.status === 400) expect(added).toMatchObject(invalid('collection'));
    }
  });

  it('of another account is not found', async () => {
    const [library, other] = [await openLibrary(platform), await openLibrary(platform)];
    const { body: foreign } = await other.request('POST', '/collections', { name: 'Prices' });
    const source = { kind: 'article', title: 'A', body: 'x', collection: foreign.id };
    expect(await library.request('POST', '/sources', source)).toMatchObject(invalid('collection'));
    expect(await library.request('GET', `/sources?collection=${foreign.id}`)).toMatchObject(invalid('collection'));
    expect(await library.request('DELETE', `/collections/${foreign.id}`)).toMatchObject({ status: 404 });
    expect(await library.request('GET', `/collections?starting_after=${foreign.id}`)).toMatchObject(
      invalid('starting_after'),
    );
  });
});

it('collections are listed oldest first, page by page', async () => {
  const library = await openLibrary(platform);
  for (const name of ['A', 'B', 'C']) await library.request('POST', '/collections', { name });
  const { body: first } = await library.request('GET', '/collections?limit=2');
  expect([first.data.map(({ name }: { name: string }) => name), first.has_more]).toEqual([['General', 'A'], true]);
  const { body: second } = await library.request('GET', `/collections?limit=2&starting_after=${first.next}`);
  expect(second).toMatchObject({ data: [{ name: 'B' }, { name: 'C' }], has_more: false, next: null });
  expect(await library.request('GET', '/collections?starting_after=x')).toMatchObject(invalid('starting_after'));
});
