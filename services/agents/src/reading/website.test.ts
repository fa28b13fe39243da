import { gzipSync } from 'node:zlib';
import { createGetter, type Getter, parseAddressRanges } from '@customer-platform/outbound';
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { drip, htmlPage, type Site, type SiteHandler, startSite } from '../../test/reading.ts';
import { Extractors } from './extractors.ts';
import { FairSemaphore } from './fair-semaphore.ts';
import { agentName } from './robots.ts';
import { digestOf, type KnownPage, readWebsite, type WebsiteReading } from './website.ts';

let site: Site;
let getter: Getter;
const extractors = new Extractors({ most: 2 });
const largePages = new FairSemaphore({ most: 2 });

const getterOf = (timeoutMs: number) =>
  createGetter({
    allowedRanges: parseAddressRanges('127.0.0.0/8'),
    resolve: async (name) => [name.endsWith('shop.example') ? '127.0.0.1' : '10.0.0.7'],
    userAgent: `${agentName}/1.0`,
    timeoutMs,
    maxSocketsPerPool: 4,
    maxSockets: 32,
  });

beforeEach(async () => {
  site = await startSite();
  getter = getterOf(10_000);
});

afterEach(async () => {
  await Promise.all([getter.close(), site.stop()]);
});

afterAll(() => extractors.close());

const readUrls = (urls: string[], known: readonly KnownPage[] = [], signal = new AbortController().signal) =>
  readWebsite({ id: 'source', owner: 'account', urls, known }, { getter, extractors, largePages, signal });
const read = (paths: string[], ...more: [known?: readonly KnownPage[], signal?: AbortSignal]) =>
  readUrls(
    paths.map((path) => site.url + path),
    ...more,
  );

/** Returns the known pages of a reading. */
function knownOf(reading: WebsiteReading): KnownPage[] {
  return reading.pages.map((page) => {
    const kept = reading.passages.filter((passage) => passage.page === page.position);
    const bytes = kept.reduce((sum, { text }) => sum + text.length, 0);
    return { ...page, passages: kept.length, bytes, digest: digestOf(kept) };
  });
}

const html =
  (content: string | Buffer, headers: Record<string, string> = {}): SiteHandler =>
  (_, response) =>
    response.writeHead(200, { 'content-type': 'text/html', ...headers }).end(content);
const status =
  (code: number, headers: Record<string, string> = {}): SiteHandler =>
  (_, response) =>
    response.writeHead(code, headers).end();

describe('a website', () => {
  it('is parsed again only if it changed, by ETag, Last-Modified or its bytes', async () => {
    site.paths.set('/etag', htmlPage('A', 'a', '"1"'));
    const modified = { 'last-modified': 'Sat, 21 Nov 2026 03:00:30 GMT' };
    const seen: unknown[] = [];
    site.paths.set('/modified', (request, response) => {
      seen.push(request.headers['if-modified-since']);
      if (request.headers['if-modified-since']) response.writeHead(304).end();
      else html('<p>b</p>', modified)(request, response);
    });
    site.paths.set('/same', htmlPage('C', 'c'));
    site.paths.set('/new', htmlPage('D', 'd'));
    const paths = ['/etag', '/modified', '/same', '/new'];
    const first = await read(paths);
    expect([first.isChanged, first.replaced]).toEqual([true, [0, 1, 2, 3]]);
    const second = await read(paths, knownOf(first));
    expect(second).toMatchObject({ isChanged: false, passages: [], replaced: [], pages: first.pages });
    expect(seen).toEqual([undefined, modified['last-modified']]);
    site.paths.set('/new', htmlPage('D', 'something else'));
    const third = await read(paths, knownOf(first));
    expect(third).toMatchObject({ isChanged: true, replaced: [3], passages: [{ page: 3, text: 'something else' }] });
    expect(third.pages).toHaveLength(4);
  });

  it('recognizes a known page at any position in the list', async () => {
    for (const name of ['a', 'b', 'c', 'd']) site.paths.set(`/${name}`, htmlPage(name, name, `"${name}"`));
    const first = await read(['/a', '/b', '/c']);
    const turned = await read(['/c', '/a', '/b'], knownOf(first));
    expect(turned).toMatchObject({ isChanged: false, passages: [], replaced: [] });
    expect(turned.pages).toHaveLength(3);
    const other = await read(['/d', '/c', '/a'], knownOf(first));
    expect(other).toMatchObject({ isChanged: true, replaced: [1], passages: [{ page: 1, text: 'd' }] });
    expect(other.pages.map(({ position, url }) => [position, url.at(-1)])).toEqual([
      [1, 'd'],
      [2, 'c'],
      [0, 'a'],
    ]);
  });

  it('drops pages that are gone or no longer listed, and keeps pages that temporarily do not respond', async () => {
    site.paths.set('/a', htmlPage('A', 'a'));
    site.paths.set('/b', htmlPage('B', 'b'));
    site.paths.set('/c', htmlPage('C', 'c'));
    const first = await read(['/a', '/b', '/c']);
    site.paths.set('/b', status(503));
    site.paths.delete('/c');
    const second = await read(['/a', '/b', '/c'], knownOf(first));
    expect(second).toMatchObject({ isChanged: true, replaced: [2], passages: [] });
    expect(second.pages.map(({ position }) => position)).toEqual([0, 1]);
    const third = await read(['/a'], knownOf(first));
    expect(third).toMatchObject({ isChanged: true, replaced: [1, 2] });
    site.paths.set('/a', status(503));
    await expect(read(['/a', '/b'], knownOf(first))).rejects.toThrow('/a cannot be read: it responded with 503');
  });
});

describe('a page under several addresses', () => {
  const positions = ({ passages }: WebsiteReading) => passages.map(({ page }) => page);

  it('is stored once, under the first address, if they lead to one page or have the same text', async () => {
    site.paths.set('/', htmlPage('Home', 'home'));
    site.paths.set('/index.html', html('<h1>Home</h1><p>home</p><script>now = 7</script>'));
    site.paths.set('/old', status(301, { location: '/now' }));
    let visits = 0;
    site.paths.set('/now', (...call) => html(`<p>Visit ${++visits}</p>`)(...call));
    site.paths.set('/other', htmlPage('Home', 'other'));
    const reading = await read(['/index.html', '/', '/old', '/now', '/other']);
    expect(positions(reading)).toEqual([0, 2, 4]);
    expect(reading.pages.map(({ position }) => position)).toEqual([0, 1, 2, 3, 4]);
  });

  it('stays stored once on later readings, and moves to the other address if the first is gone or changes', async () => {
    for (const path of ['/a', '/b']) site.paths.set(path, htmlPage('Page', 'page', '"1"'));
    const first = await read(['/a', '/b']);
    expect(positions(first)).toEqual([0]);
    expect(await read(['/a', '/b'], knownOf(first))).toMatchObject({ isChanged: false, passages: [], replaced: [1] });
    site.paths.set('/a', htmlPage('Page', 'new'));
    const second = await read(['/a', '/b'], knownOf(first));
    expect(positions(second)).toEqual([0, 1]);
    site.paths.set('/a', htmlPage('Page', 'page'));
    const third = await read(['/a', '/b'], knownOf(second));
    expect([positions(third), third.replaced, third.isChanged]).toEqual([[0], [0, 1], true]);
    site.paths.delete('/a');
    expect(positions(await read(['/a', '/b'], knownOf(third)))).toEqual([1]);
  });
});

it.each<[type: string | undefined, content: string, text: string, headings?: string[]]>([
  ['text/html; charset="iso-8859-1"', '<p>caf\xe9', 'café'],
  ["text/html;charset='windows-1251'", '<p>\xe4\xe0', 'да'],
  ['TEXT/HTML ; Charset=ISO-8859-1; x=y', '<p>caf\xe9', 'café'],
  ['application/xhtml+xml', '<html xmlns="http://www.w3.org/1999/xhtml"><body><p>x</p></body></html>', 'x'],
  ['text/markdown; charset=utf-8', '# Head\n\nbody', 'body', ['Head']],
  [undefined, '<!DOCTYPE html><h1>Head</h1><p>body', 'body', ['Head']],
  ['', '<!-- x --><html><p>body', 'body'],
  ['html', 'only text', 'only text'],
])('a page of type %j is read', async (type, content, text, headings = []) => {
  site.paths.set('/page', (_, response) =>
    response.writeHead(200, type === undefined ? {} : { 'content-type': type }).end(Buffer.from(content, 'latin1')),
  );
  expect(await read(['/page'])).toMatchObject({ passages: [{ text, heading_path: headings }] });
});

describe('another host is another site', () => {
  let other: Site;
  beforeEach(async () => {
    other = await startSite();
  });
  afterEach(() => other.stop());

  it.each([302, 308])('a page that leads there by a %i is not read', async (code) => {
    other.paths.set('/there', htmlPage('There', 'there'));
    site.paths.set('/to', status(code, { location: `${other.url}/there` }));
    site.paths.set('/good', htmlPage('Good', 'good'));
    const { host } = new URL(other.url);
    await expect(read(['/to'])).rejects.toThrow(`${site.url}/to cannot be read: it leads to another site, ${host}`);
    expect(await read(['/to', '/good'])).toMatchObject({ passages: [{ page: 1, text: 'good' }] });
  });

  it('a page that redirects back is read, and so is one that adds or drops www.', async () => {
    site.paths.set('/away', status(302, { location: `${other.url}/consent` }));
    other.paths.set('/consent', status(302, { location: `${site.url}/back` }));
    site.paths.set('/back', htmlPage('Back', 'back'));
    expect(await read(['/away'])).toMatchObject({ passages: [{ text: 'back' }] });
    const named = (name: string) => site.url.replace('127.0.0.1', name);
    site.paths.set('/bare', status(301, { location: `${named('www.shop.example')}/back` }));
    site.paths.set('/www', status(301, { location: `${named('shop.example')}/back` }));
    const urls = [`${named('shop.example')}/bare`, `${named('www.shop.example')}/www`];
    const { passages } = await readUrls(urls);
    expect(passages.map(({ text }) => text)).toEqual(['back']);
    site.paths.set('/sub', status(301, { location: `${named('news.shop.example')}/back` }));
    await expect(readUrls([`${named('shop.example')}/sub`])).rejects.toThrow('another site, news.shop.example');
  });
});

describe('a page is refused for', () => {
  it('a slow drip', async () => {
    await getter.close();
    // Long enough for the good page on a busy machine. The other page never ends.
    getter = getterOf(3_000);
    site.paths.set('/page', drip('text/html'));
    site.paths.set('/good', htmlPage('Good', 'good'));
    await expect(read(['/page'])).rejects.toThrow(`${site.url}/page cannot be read: it did not respond in time`);
    expect(await read(['/page', '/good'])).toMatchObject({ passages: [{ page: 1, text: 'good' }] });
  });

  it.each<[string, SiteHandler, string]>([
    ['a missing page', status(404), 'it responded with 404'],
    ['a server that fails', status(500), 'it responded with 500'],
    ['a picture', html('x', { 'content-type': 'image/png' }), 'it is image/png'],
    ['a picture without a type', (_, response) => response.writeHead(200).end(Buffer.alloc(9)), 'it is of no type'],
    ['a page without text', html('<title>App</title><script>app()</script>'), 'it contains no text'],
    ['a redirect to a private address', status(302, { location: 'http://10.0.0.1/' }), 'not public'],
    ['a redirect to a private host', status(302, { location: 'http://inside.example/' }), 'its robots.txt'],
    ['a redirect to a file', status(302, { location: 'file:///etc/passwd' }), 'neither http nor https'],
    ['a loop', status(302, { location: '/page' }), 'redirects'],
    [
      'an endless page',
      (_, response) => {
        const more = () => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536, 'a ')));
        };
        response.writeHead(200, { 'content-type': 'text/html' }).on('drain', more);
        more();
      },
      'larger than',
    ],
    ['a bomb', html(gzipSync(Buffer.alloc(100 * 1_048_576)), { 'content-encoding': 'gzip' }), 'larger than'],
    [
      'an encoding that cannot be read',
      html('<p>a</p>', { 'content-type': 'text/html; charset=iso-2022-kr' }),
      'encoding',
    ],
  ])('%s', async (_, handler, reason) => {
    site.paths.set('/page', handler);
    site.paths.set('/good', htmlPage('Good', 'good'));
    await expect(read(['/page'])).rejects.toThrow(`${site.url}/page cannot be read: `);
    await expect(read(['/page'])).rejects.toThrow(reason);
    expect(await read(['/page', '/good'])).toMatchObject({ replaced: [0, 1], passages: [{ page: 1, text: 'good' }] });
  });

  it('two thousand links are read as text and not followed', async () => {
    const links = Array.from({ length: 2_000 }, (_, index) => `<a href="/${index}">${index}</a>`).join(' ');
    site.paths.set('/', html(`<p>Links</p>${links}`));
    const reading = await read(['/']);
    expect(reading.passages.length).toBeGreaterThan(2);
    expect(site.requests).toEqual(['/']);
  });

  it('too much text, counted over all pages of the source', async () => {
    const paths = Array.from({ length: 50 }, (_, index) => `/${index}`);
    for (const path of paths)
      site.paths.set(path, html(`${path} ${'word '.repeat(100_000)}`, { 'content-type': 'text/plain' }));
    expect((await read(paths.slice(0, 4))).passages.length).toBeGreaterThan(1_500);
    await expect(read(paths)).rejects.toThrow('too much text');
    // The remaining pages are not requested.
    expect(site.requests.length).toBeLessThan(30);
  });

  it('a page is read up to 5 MiB, and large pages wait for their turn', async () => {
    const padded = (bytes: number) => html(`<p>Open</p><!--${'x'.repeat(bytes)}-->`);
    site.paths.set('/large', padded(4 * 1_048_576));
    site.paths.set('/larger', padded(5 * 1_048_576));
    const { passages } = await read(['/large', '/larger']);
    expect(passages).toMatchObject([{ page: 0, text: 'Open' }]);
    await expect(read(['/larger'])).rejects.toThrow('it is larger than the limit for a page');
  });

  it("three pages that exceed the extractor's limits end the reading", async () => {
    const paths = Array.from({ length: 50 }, (_, index) => `/${index}`);
    const deep = html('<div>'.repeat(400_000));
    for (const path of paths) site.paths.set(path, path.length > 2 ? deep : htmlPage(path, path));
    const quick = new Extractors({ most: 2 }, { timeoutMs: 4_000 });
    const few = [...paths.slice(0, 3), ...paths.slice(10, 12)].map((path) => site.url + path);
    const signal = new AbortController().signal;
    const readQuickly = (urls: string[]) =>
      readWebsite({ id: 'deep', owner: 'account', urls, known: [] }, { getter, extractors: quick, largePages, signal });
    expect((await readQuickly(few)).passages).toHaveLength(3);
    await expect(readQuickly(paths.map((path) => site.url + path))).rejects.toThrow(
      'Reading 3 of its pages took too long or too much memory',
    );
    expect(site.requests.length).toBeLessThan(30);
    quick.close();
  }, 90_000);

  it('an aborted reading ends at once', async () => {
    site.paths.set('/hangs', () => undefined);
    const stop = new AbortController();
    const running = read(['/hangs'], [], stop.signal);
    stop.abort(new Error('enough'));
    await expect(running).rejects.toThrow('enough');
  });
});

describe('robots.txt', () => {
  beforeEach(() => {
    site.paths.set('/a', htmlPage('A', 'a'));
    site.paths.set('/private/b', htmlPage('B', 'b'));
  });

  it('is obeyed with the rules for our agent, and fetched once', async () => {
    let asked = 0;
    const rules = `User-agent: *\nDisallow: /\n\nUser-agent: ${agentName}\nDisallow: /private/\n`;
    site.paths.set('/robots.txt', (request, response) => {
      asked++;
      expect(request.headers['user-agent']).toBe(`${agentName}/1.0`);
      response.end(rules);
    });
    expect(await read(['/a', '/private/b'])).toMatchObject({ passages: [{ page: 0, text: 'a' }] });
    expect([asked, site.requests]).toEqual([1, ['/a']]);
    await expect(read(['/private/b'])).rejects.toThrow('its robots.txt does not allow it');
  });

  it('also forbids pages reached by a redirect', async () => {
    site.paths.set('/robots.txt', html('User-agent: *\nDisallow: /private/'));
    site.paths.set('/to', status(302, { location: '/private/b' }));
    await expect(read(['/to'])).rejects.toThrow('its robots.txt does not allow it');
    expect(site.requests).toEqual(['/to']);
  });

  it.each<[string, SiteHandler, boolean]>([
    ['404', status(404), true],
    ['403', status(403), true],
    ['500', status(500), false],
    ['no response', (_, response) => void response.destroy(), false],
    ['a redirect to a private address', status(302, { location: 'http://10.0.0.1/robots.txt' }), false],
    ['a megabyte that allows', html(`User-agent: *\nAllow: /\n${'#'.repeat(1_048_576)}`), true],
  ])('%s lets us read: %s', async (_, handler, isAllowed) => {
    site.paths.set('/robots.txt', handler);
    if (isAllowed) expect((await read(['/a'])).passages).toHaveLength(1);
    else await expect(read(['/a'])).rejects.toThrow('its robots.txt cannot be read');
    expect(site.requests).toHaveLength(isAllowed ? 1 : 0);
  });
});
