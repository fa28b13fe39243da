import { pagesOf, startPlatform } from '@customer-platform/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { invalid, openLibrary } from '../../test/knowledge.ts';

const platform = await startPlatform({ services: ['agents'] });
afterAll(() => platform.stop());

const article = { kind: 'article', title: 'Returns', body: '# Returns\n\nWithin 30 days.' };
const faq = { kind: 'faq', title: 'Do you ship abroad?', body: 'Yes.' };
const website = { kind: 'website', url: 'https://shop.localhost/help' };

describe('a new source', () => {
  it('of every kind is shown as processing, in General and active', async () => {
    const library = await openLibrary(platform);
    const common = {
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      collection: { id: expect.any(Number), name: 'General' },
      status: 'processing',
      error: '',
      active: true,
      updated_at: expect.stringMatching(/[+]0[12]:00$/),
    };
    expect(await library.add(article)).toEqual({ ...common, ...article });
    expect(await library.add(faq)).toEqual({ ...common, ...faq, alternates: [], answer_exactly: false });
    const shown = { title: 'shop.localhost/help', crawl: 'page', refresh: 'never', pages: 1 };
    expect(await library.add(website)).toEqual({ ...common, ...website, ...shown });
  });

  it('has the given fields, and no fields of other kinds', async () => {
    const library = await openLibrary(platform);
    const { body: collection } = await library.request('POST', '/collections', { name: 'Help' });
    const more = { collection: collection.id, active: false, alternates: ['Abroad?'], answer_exactly: true };
    expect(await library.add({ ...faq, ...more, url: 'file:///', pages: ['x'], crawl: 'page' })).toMatchObject({
      collection: { id: collection.id, name: 'Help' },
      active: false,
      alternates: ['Abroad?'],
      answer_exactly: true,
    });
    const site = { ...website, crawl: 'sitemap', refresh: 'weekly', title: 'Ignored', body: 'Ignored' };
    const added = await library.add(site);
    expect(added).toMatchObject({ title: 'shop.localhost/help', crawl: 'sitemap', refresh: 'weekly' });
    expect(added).not.toHaveProperty('body');
  });

  it.each([
    ['kind', { title: 'A', body: 'x' }],
    ['kind', { ...article, kind: 'file' }],
    ['title', { kind: 'article', body: 'x' }],
    ['title', { ...article, title: '' }],
    ['title', { ...article, title: ' \n ' }],
    ['title', { ...article, title: 't'.repeat(201) }],
    ['title', { kind: 'faq', body: 'x' }],
    ['body', { kind: 'article', title: 'A' }],
    ['body', { ...article, body: '' }],
    ['body', { ...article, body: 'b'.repeat(20_001) }],
    ['body', { ...faq, body: 'b'.repeat(2_001) }],
    ['alternates', { ...faq, alternates: Array(21).fill('x') }],
    ['alternates', { ...faq, alternates: 'x' }],
    ['answer_exactly', { ...faq, answer_exactly: 'yes' }],
    ['active', { ...article, active: 'yes' }],
    ['collection', { ...article, collection: 999_999_999 }],
    ['collection', { ...article, collection: 'General' }],
    ['url', { kind: 'website' }],
    ['crawl', { ...website, crawl: 'all' }],
    ['refresh', { ...website, refresh: 'hourly' }],
  ])('is refused naming %s: case %#', async (field, body) => {
    const library = await openLibrary(platform);
    expect(await library.request('POST', '/sources', body)).toMatchObject(invalid(field));
  });

  it('may be as long as the limits say, counted in characters', async () => {
    const library = await openLibrary(platform);
    await library.add({ kind: 'article', title: '😀'.repeat(200), body: '😀'.repeat(20_000) });
    await library.add({ ...faq, body: '😀'.repeat(2_000), alternates: Array(20).fill('x'.repeat(200)) });
    expect((await library.account.client.agents.knowledge.sources.list()).data).toHaveLength(2);
  });
});

describe('a duplicate is refused', () => {
  it.each([
    ['title', article, { ...article, title: ' RETURNS ' }],
    ['title', faq, { ...faq, title: 'do you ship ABROAD?' }],
    ['url', website, { ...website, url: 'HTTPS://Shop.Localhost:443/a/../help#top' }],
    ['url', { ...website, url: 'http://shop.localhost' }, { ...website, url: 'http://shop.localhost/' }],
  ])('%s: case %#', async (field, first, second) => {
    const library = await openLibrary(platform);
    await library.add(first);
    expect(await library.request('POST', '/sources', second)).toMatchObject(invalid(field));
    const other = await openLibrary(platform);
    expect(await other.request('POST', '/sources', second)).toMatchObject({ status: 201 });
  });

  it('of twenty concurrent requests, one succeeds', async () => {
    const library = await openLibrary(platform);
    const responses = await Promise.all(Array.from({ length: 20 }, () => library.request('POST', '/sources', article)));
    expect(responses.map(({ status }) => status).sort()).toEqual([201, ...Array(19).fill(400)]);
  });

  it('an article may have the title of an FAQ, and http is a different website than https', async () => {
    const library = await openLibrary(platform);
    await library.add(article);
    await library.add({ ...faq, title: article.title });
    await library.add(website);
    await library.add({ ...website, url: 'http://shop.localhost/help' });
    await library.add({ ...website, url: 'https://shop.localhost/help?page=2' });
  });
});

describe('a website', () => {
  it.each([
    'shop.localhost',
    'ftp://shop.localhost/',
    'https://',
    'https://user:secret@shop.localhost/',
    'https://shop.localhost/a b',
    'http://10.0.0.1/',
    'https://[::ffff:10.0.0.1]/',
    'http://2852039166/latest',
    `https://shop.localhost/${'x'.repeat(2_048)}`,
    `https://shop.localhost/${'😀'.repeat(200)}`,
  ])('%s is refused', async (url) => {
    const library = await openLibrary(platform);
    expect(await library.request('POST', '/sources', { kind: 'website', url })).toMatchObject(invalid('url'));
  });

  it('is titled by its address, without the slash of a bare host', async () => {
    const library = await openLibrary(platform);
    const title = async (url: string) => (await library.add({ kind: 'website', url })).title;
    expect(await title('https://one.localhost/')).toBe('one.localhost');
    expect(await title('http://two.localhost/a/?b=c#d')).toBe('two.localhost/a/?b=c');
  });

  it('reads only the pages on its own host, each once, or url alone if there are none', async () => {
    const library = await openLibrary(platform);
    const pages = (own: string[], url = website.url) => library.add({ kind: 'website', url, pages: own });
    const own = [
      'https://shop.localhost/a',
      'https://SHOP.localhost/a#b',
      'http://shop.localhost/b',
      'https://other.localhost/a',
    ];
    expect(await pages(own)).toMatchObject({ pages: 2 });
    expect(await pages(['https://other.localhost/', 'http://10.0.0.1/'], 'https://b.localhost')).toMatchObject({
      pages: 1,
    });
  });

  it('has at most 50 pages, each a URL', async () => {
    const library = await openLibrary(platform);
    const many = (count: number) => Array.from({ length: count }, (_, index) => `https://shop.localhost/${index}`);
    const add = (pages: unknown) => library.request('POST', '/sources', { ...website, pages });
    for (const pages of [
      many(51),
      [],
      'https://shop.localhost/',
      ['/a'],
      ['https://a:b@shop.localhost/'],
      ['ftp://x/'],
      [`ftp://${'一'.repeat(261)}.example/`],
    ]) {
      expect(await add(pages)).toMatchObject(invalid('pages'));
    }
    expect(await add(many(50))).toMatchObject({ status: 201, body: { pages: 50 } });
  });
});

describe('updating a source', () => {
  it('with nothing or the same values changes nothing', async () => {
    const library = await openLibrary(platform);
    const added = await library.add({ ...faq, alternates: ['Abroad?'] });
    await library.read(added.id, ['Yes.']);
    const before = await library.get(added.id);
    const { title, body, alternates, answer_exactly, active } = before as typeof before & Record<string, unknown>;
    for (const change of [{}, { title: ` ${title} `, body, alternates, answer_exactly, active }]) {
      expect(await library.request('PATCH', `/sources/${added.id}`, change)).toMatchObject({
        status: 200,
        body: before,
      });
    }
    expect(await library.get(added.id)).toEqual(before);
  });

  it('has it read again only if its content changes', async () => {
    const library = await openLibrary(platform);
    const { body: collection } = await library.request('POST', '/collections', { name: 'Help' });
    const [one, site] = [await library.add(faq), await library.add(website)];
    const change = async (id: string, values: unknown) => {
      await library.read(id, ['Yes.']);
      const { status, body } = await library.request('PATCH', `/sources/${id}`, values);
      expect([status, body]).toEqual([200, expect.objectContaining({ id, error: '' })]);
      return body.status;
    };
    for (const values of [{ title: 'To Peru?' }, { body: 'No.' }, { alternates: ['To Chile?'] }]) {
      expect(await change(one.id, values)).toBe('processing');
    }
    expect(await change(site.id, { pages: ['https://shop.localhost/a', 'https://shop.localhost/b'] })).toBe(
      'processing',
    );
    expect(await library.get(site.id)).toMatchObject({ pages: 2 });
    for (const values of [{ active: false }, { collection: collection.id }, { answer_exactly: true }]) {
      expect(await change(one.id, values)).toBe('ready');
    }
    expect(await change(site.id, { refresh: 'daily' })).toBe('ready');
    const after = { title: 'To Peru?', body: 'No.', alternates: ['To Chile?'], active: false, answer_exactly: true };
    expect(await library.get(one.id)).toMatchObject({ ...after, collection: { name: 'Help' } });
  });

  it('with a field of another kind is refused, even if the value would be the same', async () => {
    const library = await openLibrary(platform);
    const own = {
      article: await library.add(article),
      faq: await library.add(faq),
      website: await library.add(website),
    };
    const { body: file } = await library.upload('a.txt', 'A text');
    const values = {
      title: 'T',
      body: 'B',
      alternates: [],
      answer_exactly: true,
      pages: [website.url],
      refresh: 'never',
    };
    const foreign = {
      article: ['alternates', 'answer_exactly', 'pages', 'refresh'],
      faq: ['pages', 'refresh'],
      website: ['title', 'body', 'alternates', 'answer_exactly'],
      file: ['body', 'alternates', 'answer_exactly', 'pages', 'refresh'],
    };
    const ids = { article: own.article.id, faq: own.faq.id, website: own.website.id, file: file.id };
    for (const [kind, fields] of Object.entries(foreign)) {
      for (const field of fields) {
        const change = { [field]: values[field as keyof typeof values] };
        const response = await library.request('PATCH', `/sources/${ids[kind as keyof typeof ids]}`, change);
        expect(response).toMatchObject(invalid(field));
      }
    }
  });

  it('enforces the limits and unique titles', async () => {
    const library = await openLibrary(platform);
    const [one, two] = [await library.article('One'), await library.add({ ...faq, title: 'Two' })];
    await library.article('Other');
    const patch = (id: string, change: unknown) => library.request('PATCH', `/sources/${id}`, change);
    expect(await patch(one.id, { title: 'OTHER' })).toMatchObject(invalid('title'));
    expect(await patch(one.id, { title: 'ONE' })).toMatchObject({ status: 200, body: { title: 'ONE' } });
    expect(await patch(one.id, { title: '  ' })).toMatchObject(invalid('title'));
    expect(await patch(one.id, { collection: 999_999_999 })).toMatchObject(invalid('collection'));
    expect(await patch(one.id, { body: 'b'.repeat(20_000) })).toMatchObject({ status: 200 });
    expect(await patch(two.id, { body: 'b'.repeat(2_001) })).toMatchObject(invalid('body'));
    expect(await patch(two.id, { body: 'b'.repeat(2_000) })).toMatchObject({ status: 200 });
  });
});

describe('sources', () => {
  it('are listed newest first, by kind and collection, page by page', async () => {
    const [library, other] = [await openLibrary(platform), await openLibrary(platform)];
    const { body: collection } = await library.request('POST', '/collections', { name: 'Help' });
    for (const title of ['A', 'B', 'C']) await library.article(title, { collection: collection.id });
    await library.add({ ...faq, collection: collection.id });
    await library.article('D');
    const titles = async (query: string) =>
      (await library.request('GET', `/sources?${query}`)).body.data.map((source: { title: string }) => source.title);
    expect(await titles('')).toEqual(['D', faq.title, 'C', 'B', 'A']);
    expect(await titles('kind=article')).toEqual(['D', 'C', 'B', 'A']);
    expect(await titles(`collection=${collection.id}`)).toEqual([faq.title, 'C', 'B', 'A']);
    const both = `kind=article&collection=${collection.id}`;
    expect(await titles(both)).toEqual(['C', 'B', 'A']);
    const { body: page } = await library.request('GET', `/sources?${both}&limit=2`);
    await library.article('E', { collection: collection.id });
    expect(await titles(`${both}&limit=2&starting_after=${page.next}`)).toEqual(['A']);
    const { id } = await other.article('Foreign');
    for (const query of ['kind=page', `starting_after=${id}`, 'collection=999999999']) {
      expect(await library.request('GET', `/sources?${query}`)).toMatchObject(invalid(query.split('=')[0]!));
    }
  });

  it.each([
    ['long', 'ä'],
    ['long as JSON', '\u0001'],
  ])('that are %s end a page of the list sooner, and the pages have them all', async (_, character) => {
    const library = await openLibrary(platform);
    const { account } = library;
    const { id } = await library.article('First');
    await platform.database('agents')`
      insert into sources (account_id, kind, title, collection_id, status, active, created_at, updated_at, body)
      select account_id, kind, 'Long ' || number, collection_id, 'ready', true, created_at, updated_at, repeat(${character}, 20000)
      from sources cross join generate_series(1, 89) as number where account_id = ${account.id} and id = ${id}`;
    const { data, sizes } = await pagesOf((query) => account.client.agents.knowledge.sources.list({ query }));
    expect([data.length, new Set(data.map((one) => one.id)).size, data.at(-1)!.id]).toEqual([90, 90, id]);
    expect(Math.max(...sizes)).toBeLessThan(2.2 * 1_048_576);
  });

  it('are refreshed and become processing again; sources that are processing stay unchanged', async () => {
    const library = await openLibrary(platform);
    const { id } = await library.add({ ...website, url: 'https://shop.localhost/again' });
    await library.read(id, ['Yes.']);
    const refresh = () => library.request('POST', `/sources/${id}/refresh`, {});
    const first = await refresh();
    expect(first).toMatchObject({ status: 202, body: { id, status: 'processing', error: '' } });
    expect(await refresh()).toMatchObject({ status: 202 });
  });

  it('are deleted with all their data', async () => {
    const library = await openLibrary(platform);
    const { id } = await library.article('Gone');
    await library.read(id, ['A text about elephants', 'and one about tigers']);
    expect(await library.search('elephants')).toHaveLength(1);
    expect(await library.request('DELETE', `/sources/${id}`)).toMatchObject({ status: 204 });
    expect(await library.request('DELETE', `/sources/${id}`)).toMatchObject({ status: 404 });
    expect(await library.search('elephants')).toEqual([]);
    const database = platform.database('agents');
    const rows = await database`
      select word as left from words where account_id = ${library.account.id}
      union all select passages::text from libraries where account_id = ${library.account.id} and passages > 0`;
    expect([...rows]).toEqual([]);
  });
});
