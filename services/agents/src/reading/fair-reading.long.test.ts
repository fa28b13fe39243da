import type { KnowledgeSource } from '@customer-platform/contracts/agents';
import { startPlatform, waitFor } from '@customer-platform/testkit';
import { pdfOf } from '@customer-platform/testkit/documents';
import { afterAll, describe, expect, it } from '@jest/globals';
import { type Library, openLibrary } from '../../test/knowledge.ts';
import { drip, htmlPage, type SiteHandler, startSite } from '../../test/reading.ts';

const pagesOfWebsite = 50;
/** Timeout of honest sources on an overloaded machine. The dripping websites take longer. */
const soonMs = 90_000;

const platform = await startPlatform({ services: ['agents'] });
const site = await startSite();
afterAll(async () => {
  await platform.stop();
  await site.stop();
});

/** Creates websites of 50 pages each, whose paths start with `begins`. */
async function addWebsites(library: Library, begins: readonly string[]): Promise<KnowledgeSource[]> {
  const pagesOf = (begin: string) => Array.from({ length: pagesOfWebsite }, (_, page) => `${site.url}${begin}${page}`);
  return await Promise.all(
    begins.map((begin) => library.add({ kind: 'website', url: `${site.url}${begin}`, pages: pagesOf(begin) })),
  );
}

const ended = (library: Library, id: string, timeoutMs = soonMs) =>
  waitFor(
    'the source to be read',
    async () => {
      const source = await library.get(id);
      return source.status !== 'processing' && source;
    },
    timeoutMs,
  );

/** One source of each kind, and a website of many pages. */
async function honestSources(library: Library, name: string): Promise<KnowledgeSource[]> {
  const paths = Array.from({ length: pagesOfWebsite }, (_, page) => `/${name}/${page}`);
  for (const path of paths) site.paths.set(path, htmlPage(path, 'honest'));
  const file = await library.upload('terms.pdf', pdfOf(['All prices with VAT.']));
  const pages = paths.map((path) => site.url + path);
  return await Promise.all([
    library.add({ kind: 'faq', title: 'Do you deliver?', body: 'Yes.' }),
    library.article('Delivery'),
    library.get(file.body.id),
    library.add({ kind: 'website', url: pages[0], pages }),
  ]);
}

describe('one account that uses all the capacity it can get', () => {
  it('with dripping websites does not delay other accounts', async () => {
    const [hostile, honest] = [await openLibrary(platform), await openLibrary(platform)];
    const names = Array.from({ length: 6 }, (_, number) => `/drip/${number}/`);
    let [open, most] = [0, 0];
    const dripping = drip('text/html');
    const counted: SiteHandler = (request, response) => {
      most = Math.max(most, ++open);
      response.on('close', () => open--);
      dripping(request, response);
    };
    for (const name of names) {
      for (let page = 0; page < pagesOfWebsite; page++) site.paths.set(`${name}${page}`, counted);
    }
    const websites = await addWebsites(hostile, names);
    await waitFor('their pages to be requested', () => open === 8, soonMs);
    for (const { id } of await honestSources(honest, 'beside-drip')) {
      expect(await ended(honest, id)).toMatchObject({ status: 'ready' });
    }
    // Two of the account's websites are read at once, four pages at a time each.
    expect(most).toBe(8);
    expect(await hostile.article('Its own')).toMatchObject({ status: 'processing' });
    for (const { id } of websites) expect((await hostile.get(id)).status).toBe('processing');
    for (const { id } of websites) await hostile.request('DELETE', `/sources/${id}`);
  }, 480_000);

  it('with files that take the maximum time delays only itself, also with two such accounts', async () => {
    const [live, sandbox, honest] = [
      await openLibrary(platform),
      await openLibrary(platform),
      await openLibrary(platform),
    ];
    const upload = async (library: Library, name: string) => {
      // Takes the whole 30 s.
      const slow = `<!doctype html><p>${name}</p>${'<h1>a'.repeat(100_000)}`;
      return { library, id: (await library.upload(`${name}.html`, slow)).body.id };
    };
    const files = await Promise.all([upload(live, '1'), upload(sandbox, '2'), upload(live, '3')]);
    const sources = await honestSources(honest, 'beside-slow');
    for (const { id } of sources) expect(await ended(honest, id)).toMatchObject({ status: 'ready' });
    const endedFirst = await platform.database('agents')`
      select id, status from sources where id = any(${files.map(({ id }) => id)}::uuid[]) and status <> 'processing'
        and updated_at < (select max(updated_at) from sources where id = any(${sources.map(({ id }) => id)}::uuid[]))`;
    expect([...endedFirst]).toEqual([]);
    for (const { library, id } of files) await library.request('DELETE', `/sources/${id}`);
  }, 480_000);

  it('with pages that are too expensive to parse delays only itself', async () => {
    const [hostile, honest] = [await openLibrary(platform), await openLibrary(platform)];
    const names = ['/deep/0/', '/deep/1/'];
    const deep = '<div>'.repeat(200_000);
    for (const name of names) {
      for (let page = 0; page < pagesOfWebsite; page++) {
        site.paths.set(`${name}${page}`, (_, response) => {
          response.writeHead(200, { 'content-type': 'text/html' }).end(deep);
        });
      }
    }
    const websites = await addWebsites(hostile, names);
    await waitFor('their pages to be requested', () => site.requests.some((path) => path.startsWith('/deep/')), soonMs);
    for (const { id } of await honestSources(honest, 'beside-deep')) {
      expect(await ended(honest, id)).toMatchObject({ status: 'ready' });
    }
    for (const { id } of websites) {
      expect(await ended(hostile, id, 2 * soonMs)).toMatchObject({
        status: 'failed',
        error: 'Reading 3 of its pages took too long or too much memory',
      });
    }
  }, 900_000);
});
