import { readdirSync, readFileSync } from 'node:fs';
import type { KnowledgeSource } from '@customer-platform/contracts/agents';
import { type Running, startService } from '@customer-platform/service-kit';
import { startPlatform, waitFor } from '@customer-platform/testkit';
import { docxOf, pdfOf } from '@customer-platform/testkit/documents';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { openLibrary } from '../../test/knowledge.ts';
import { htmlPage, type Site, startSite } from '../../test/reading.ts';
import { agents } from '../start.ts';

const sites: Site[] = [];
const minuteMs = 60_000;
const dayMs = 86_400_000;

const platform = await startPlatform({ services: ['agents'] });
const database = platform.database('agents');
const library = await openLibrary(platform);
afterAll(() => platform.stop());
afterEach(async () => {
  await Promise.all(sites.splice(0).map((site) => site.stop()));
});

async function newSite(): Promise<Site> {
  const site = await startSite();
  sites.push(site);
  return site;
}

/** Waits until a source has been read. Returns it. Large sources take long on a busy machine. */
const ended = (id: string, timeoutMs?: number) =>
  waitFor(
    'the source to be read',
    async () => {
      const source = await library.get(id);
      return source.status !== 'processing' && source;
    },
    timeoutMs,
  );

/** Returns a source's stored passages. */
const passagesOf = (id: string) => database`
  select page, position, heading_path, text from passages where source_id = ${id} order by page, position`;

interface Row {
  status: string;
  due_at: Date | null;
  tries: number;
  reading_since: Date | null;
}

const rowOf = async (id: string) =>
  (await database<Row[]>`select status, due_at, tries, reading_since from sources where id = ${id}`)[0]!;

const eventsOf = (id: string) =>
  platform
    .events(library.account.id)
    .filter(({ data }) => data.source?.id === id)
    .map(({ type, data }) => ({ type, previous: data.previous, source: data.source as KnowledgeSource }));

const website = (site: Site, paths: string[], more: Record<string, unknown> = {}) =>
  library.add({ kind: 'website', url: `${site.url}${paths[0]}`, pages: paths.map((path) => site.url + path), ...more });

const refresh = (id: string) => library.request('POST', `/sources/${id}/refresh`, {});

describe('a new source is read', () => {
  it('an article becomes ready, is split by its headings, and emits an event', async () => {
    const body = '# Delivery\nBy bike.\n\n## Costs\nFree above 50 euros.';
    const added = await library.article('Shop', { body });
    expect(added.status).toBe('processing');
    expect(await ended(added.id)).toMatchObject({ status: 'ready', error: '' });
    expect(await passagesOf(added.id)).toMatchObject([
      { page: 0, position: 0, heading_path: ['Delivery'], text: 'By bike.' },
      { page: 0, position: 1, heading_path: ['Delivery', 'Costs'], text: 'Free above 50 euros.' },
    ]);
    const told = await platform.event(library.account.id, 'knowledge.ready', ({ source }) => source.id === added.id);
    expect(told.data).toMatchObject({ source: { status: 'ready' }, previous: { status: 'processing' } });
    expect(told.data.source).toEqual(await library.get(added.id));
    expect(await library.search('free costs')).toMatchObject([{ title: 'Shop' }]);
    expect(await rowOf(added.id)).toMatchObject({ due_at: null, tries: 0, reading_since: null });
  });

  it('an FAQ is one passage with its answer unchanged', async () => {
    const body = '# Yes,\n\nwe do.  ';
    const { id } = await library.add({ kind: 'faq', title: 'Do you deliver?', body });
    expect((await ended(id)).status).toBe('ready');
    expect(await passagesOf(id)).toMatchObject([{ heading_path: [], text: body }]);
  });

  it('a changed source is read again, and its old text is no longer found', async () => {
    const { id } = await library.article('Hours', { body: 'Open until zebra o clock.' });
    await ended(id);
    expect(await library.request('PATCH', `/sources/${id}`, { body: 'Open until giraffe o clock.' })).toMatchObject({
      status: 200,
      body: { status: 'processing' },
    });
    expect((await ended(id)).status).toBe('ready');
    expect(await library.search('zebra')).toEqual([]);
    expect(await library.search('giraffe')).toHaveLength(1);
  });

  it('a source without text fails with a reason', async () => {
    const { id } = await library.article('Empty', { body: '  \n\n#' });
    expect(await ended(id)).toMatchObject({ status: 'failed', error: 'It contains no text' });
    const told = await platform.event(library.account.id, 'knowledge.failed', ({ source }) => source.id === id);
    expect(told.data).toMatchObject({ source: { status: 'failed' }, previous: { status: 'processing', error: '' } });
  });
});

describe('a website', () => {
  it('with fifty pages becomes ready, and a refresh reads only what has changed', async () => {
    const site = await newSite();
    const paths = Array.from({ length: 50 }, (_, index) => `/${index}`);
    for (const path of paths) site.paths.set(path, htmlPage(`Page ${path}`, `Text of ${path}`, `"${path}"`));
    const { id } = await website(site, paths);
    expect(await ended(id)).toMatchObject({ status: 'ready', pages: 50 });
    expect(await passagesOf(id)).toHaveLength(50);
    expect([...site.requests].sort()).toEqual([...paths].sort());

    site.paths.set('/7', htmlPage('Page /7', 'Something else', '"new"'));
    expect((await refresh(id)).body.status).toBe('processing');
    await ended(id);
    expect(site.requests).toHaveLength(100);
    const passages = await passagesOf(id);
    expect([passages.length, passages[7]!.text, passages[8]!.text]).toEqual([50, 'Something else', 'Text of /8']);

    await refresh(id);
    await ended(id);
    expect(await passagesOf(id)).toEqual(passages);
    await waitFor('three events', () => eventsOf(id).length === 3);
    expect(eventsOf(id).map(({ type }) => type)).toEqual(Array(3).fill('knowledge.ready'));

    const few = paths.slice(0, 2).map((path) => site.url + path);
    await library.request('PATCH', `/sources/${id}`, { pages: few });
    expect(await ended(id)).toMatchObject({ status: 'ready', pages: 2 });
    expect(await passagesOf(id)).toHaveLength(2);
  });

  it('with a passage under several addresses, or also on another website, is found once by it', async () => {
    const site = await newSite();
    site.paths.set('/a', htmlPage('Quokkas', 'About quokkas.', '"a"'));
    site.paths.set('/b', htmlPage('Quokkas', 'About quokkas.'));
    const { id } = await website(site, ['/a', '/b']);
    await ended(id);
    expect(await passagesOf(id)).toHaveLength(1);
    await refresh(id);
    await ended(id);
    expect(await passagesOf(id)).toHaveLength(1);
    await ended((await website(site, ['/b'])).id);
    expect(await library.search('quokkas')).toMatchObject([{ text: 'About quokkas.' }]);
  });

  it('without a readable page fails with the reason of the first page, and becomes ready once one is readable', async () => {
    const site = await newSite();
    const { id } = await website(site, ['/a', '/b']);
    const error = `${site.url}/a cannot be read: it responded with 404`;
    expect(await ended(id)).toMatchObject({ status: 'failed', error });
    site.paths.set('/b', htmlPage('B', 'b'));
    await refresh(id);
    expect(await ended(id)).toMatchObject({ status: 'ready', error: '' });
  });

  it('whose refresh fails stays ready with its old passages, and shows the error until a refresh succeeds', async () => {
    const site = await newSite();
    site.paths.set('/', htmlPage('Axolotls', 'About axolotls.'));
    const { id } = await website(site, ['/']);
    const { updated_at } = await ended(id);
    const passages = await passagesOf(id);
    site.paths.delete('/');
    expect((await refresh(id)).body).toMatchObject({ status: 'processing', error: '' });
    const error = `${site.url}/ cannot be read: it responded with 404`;
    const kept = await ended(id);
    expect(kept).toMatchObject({ status: 'ready', error });
    expect(Date.parse(kept.updated_at)).toBeGreaterThan(Date.parse(updated_at));
    expect(await passagesOf(id)).toEqual(passages);
    expect(await library.search('axolotls')).toHaveLength(1);
    await refresh(id);
    expect(await ended(id)).toMatchObject({ status: 'ready', error });

    site.paths.set('/', htmlPage('Axolotls', 'More about axolotls.'));
    await refresh(id);
    expect(await ended(id)).toMatchObject({ status: 'ready', error: '' });
    await waitFor('the events', () => eventsOf(id).length === 2);
    expect(eventsOf(id).map(({ type }) => type)).toEqual(Array(2).fill('knowledge.ready'));
  });

  it('with only new pages fails if none of them can be read, also after a refresh', async () => {
    const site = await newSite();
    site.paths.set('/old', htmlPage('Old', 'About ocelots.'));
    const { id } = await website(site, ['/old']);
    await ended(id);
    const error = `${site.url}/new cannot be read: it responded with 404`;
    await library.request('PATCH', `/sources/${id}`, { pages: [`${site.url}/new`] });
    expect(await ended(id)).toMatchObject({ status: 'failed', error });
    await refresh(id);
    expect(await ended(id)).toMatchObject({ status: 'failed', error });
    expect(await library.search('ocelots')).toEqual([]);
  });

  it('that is changed while being read is read again, and the first result is discarded', async () => {
    const site = await newSite();
    let release: () => void = () => undefined;
    site.paths.set('/old', (request, response) => {
      release = () => htmlPage('Old', 'old')(request, response);
    });
    site.paths.set('/new', htmlPage('New', 'new'));
    const { id } = await website(site, ['/old']);
    await waitFor('the page to be requested', () => site.requests.length === 1);
    await library.request('PATCH', `/sources/${id}`, { pages: [`${site.url}/new`] });
    release();
    expect((await ended(id)).status).toBe('ready');
    expect(await passagesOf(id)).toMatchObject([{ text: 'new' }]);
    // An account has two slots. While two other sources are read, the first reading has ended, and its event precedes theirs.
    const held: (() => void)[] = [];
    for (const path of ['/1', '/2'])
      site.paths.set(path, (request, response) => held.push(() => htmlPage(path, 'text')(request, response)));
    const markers = await Promise.all(['/1', '/2'].map((path) => website(site, [path])));
    await waitFor('two others to be read', () => held.length === 2);
    for (const respond of held) respond();
    for (const { id: marker } of markers)
      await platform.event(library.account.id, 'knowledge.ready', ({ source }) => source.id === marker);
    expect(eventsOf(id).map(({ type }) => type)).toEqual(['knowledge.ready']);
  });
});

describe('a file', () => {
  const upload = async (name: string, bytes: string | Buffer) => (await library.upload(name, bytes)).body.id as string;

  it.each<[string, string | Buffer, { heading_path: string[]; text: string }]>([
    ['terms.pdf', pdfOf(['All prices with VAT.']), { heading_path: ['Page 1'], text: 'All prices with VAT.' }],
    [
      'terms.docx',
      docxOf([{ text: 'Terms', level: 1 }, { text: 'In 30 days.' }]),
      { heading_path: ['Terms'], text: 'In 30 days.' },
    ],
    ['prices.csv', 'Product,Price\nTea,4.50\n', { heading_path: [], text: 'Product: Tea\nPrice: 4.50' }],
    ['notes.md', '# Notes\nOpen.', { heading_path: ['Notes'], text: 'Open.' }],
    ['page.html', '<!doctype html><title>Page</title><p>Hello', { heading_path: ['Page'], text: 'Hello' }],
    ['large.txt', `${'word '.repeat(300_000)}end`, { heading_path: [], text: 'word '.repeat(240).trim() }],
  ])('%s becomes ready', async (name, bytes, passage) => {
    const id = await upload(name, bytes);
    expect((await ended(id)).status).toBe('ready');
    expect((await passagesOf(id))[0]).toMatchObject(passage);
  });

  it('that is hostile fails with a reason, without affecting other sources', async () => {
    const bomb = await upload('bomb.docx', docxOf([{ text: 'a'.repeat(30 * 1_048_576) }], 1_000));
    const long = await upload('long.pdf', pdfOf(Array<string>(10_000).fill('x')));
    const good = await upload('good.txt', 'Good.');
    expect(await ended(bomb)).toMatchObject({ status: 'failed', error: 'It is too large when unpacked' });
    expect(await ended(long)).toMatchObject({ status: 'failed', error: 'It has more than 2,000 pages' });
    expect(await ended(good)).toMatchObject({ status: 'ready' });
  });

  it('whose process is killed is read by another process', async () => {
    const pages = Array.from({ length: 600 }, (_, index) => `Page number ${index}`);
    const id = await upload('pages.pdf', pdfOf(pages));
    process.kill(await waitFor('the child process', () => childProcesses().at(0)), 'SIGKILL');
    expect(await ended(id, 100_000)).toMatchObject({ status: 'ready' });
    expect(await passagesOf(id)).toHaveLength(600);
    await waitFor('no child process to be left', () => childProcesses().length === 0);
  }, 150_000);
});

/** Returns the child processes that read documents. */
function childProcesses(): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => {
    try {
      const parent = /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
      return Number(parent) === process.pid && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('extract-child');
    } catch {
      return false;
    }
  });
}

describe('several processes', () => {
  const startAnother = (): Promise<Running> =>
    startService(agents, { ...platform.env('agents'), PORT: '0' }, { clock: platform.clock.now });

  it('never read one source at the same time, and read each once', async () => {
    const another = await startAnother();
    const site = await newSite();
    const paths = Array.from({ length: 12 }, (_, index) => `/${index}`);
    for (const path of paths) site.paths.set(path, htmlPage(path, 'text'));
    const added = await Promise.all(paths.map((path) => website(site, [path])));
    for (const { id } of added) expect((await ended(id)).status).toBe('ready');
    expect([...site.requests].sort()).toEqual([...paths].sort());
    await another.stop();
  });

  it('take over sources that a stopped process releases', async () => {
    const site = await newSite();
    const paths = ['/0', '/1', '/2', '/3'];
    const held: (() => void)[] = [];
    for (const path of paths) {
      const page = htmlPage(path, 'text');
      site.paths.set(path, (request, response) => {
        if (held.length < paths.length) held.push(() => page(request, response));
        else page(request, response);
      });
    }
    const another = await startAnother();
    const added = await Promise.all(paths.map((path) => website(site, [path])));
    await waitFor('both to read two each', () => held.length === 4);
    await another.stop();
    const rows = await Promise.all(added.map(({ id }) => rowOf(id)));
    const now = platform.clock.now();
    expect(rows.filter(({ tries, due_at }) => tries === 0 && due_at! <= now)).toHaveLength(2);
    for (const release of held) release();
    for (const { id } of added) expect((await ended(id)).status).toBe('ready');
    expect(site.requests).toHaveLength(6);
  });

  it('take over sources of a killed process, but not forever', async () => {
    const [lost, late, deadly] = [
      await library.article('Lost'),
      await library.article('Late'),
      await library.article('Deadly'),
    ];
    for (const { id } of [lost, late, deadly]) await ended(id);
    const claimed = async (id: string, tries: number, sinceMs: number) => {
      const now = platform.clock.now().getTime();
      await database`
        update sources set status = 'processing', read_content = null, tries = ${tries}, due_at = ${new Date(now + minuteMs)},
          reading_since = ${new Date(now - sinceMs)} where id = ${id}`;
    };
    await Promise.all([claimed(lost.id, 1, 0), claimed(late.id, 1, 9.5 * minuteMs), claimed(deadly.id, 5, 0)]);
    platform.clock.advance(minuteMs);
    expect(await ended(lost.id)).toMatchObject({ status: 'ready' });
    expect(await ended(late.id)).toMatchObject({ status: 'failed', error: 'Reading took too long' });
    expect(await ended(deadly.id)).toMatchObject({
      status: 'failed',
      error: 'Reading it was interrupted repeatedly',
    });
  });

  it('end a reading after ten minutes', async () => {
    const site = await newSite();
    site.paths.set('/hangs', () => undefined);
    const { id } = await website(site, ['/hangs']);
    await waitFor('the page to be requested', () => site.requests.length === 1);
    platform.clock.advance(10 * minuteMs);
    expect(await ended(id)).toMatchObject({ status: 'failed', error: 'Reading took too long' });
    expect(await rowOf(id)).toMatchObject({ due_at: null, tries: 0, reading_since: null });
  });
});

describe('a website with a schedule', () => {
  it.each([
    ['daily', dayMs],
    ['weekly', 7 * dayMs],
  ])('%s: stays ready meanwhile, and emits an event only for new content', async (every, waitMs) => {
    const site = await newSite();
    site.paths.set('/', htmlPage('A', 'first', '"1"'));
    const { id } = await website(site, ['/'], { refresh: every });
    await ended(id);
    const nextAfter = async (requests: number) => {
      platform.clock.advance(waitMs);
      await waitFor('the page to be read', () => site.requests.length === requests);
      await waitFor('the next time to be set', async () => (await rowOf(id)).reading_since === null);
      const { due_at, status } = await rowOf(id);
      expect(Math.abs(due_at!.getTime() - platform.clock.now().getTime() - waitMs)).toBeLessThan(minuteMs);
      return status;
    };
    const { updated_at } = await library.get(id);
    await waitFor('the first event', () => eventsOf(id).length === 1);
    expect(await nextAfter(2)).toBe('ready');
    expect([(await library.get(id)).updated_at, eventsOf(id).length]).toEqual([updated_at, 1]);
    site.paths.set('/', htmlPage('A', 'second', '"2"'));
    expect(await nextAfter(3)).toBe('ready');
    expect(await passagesOf(id)).toMatchObject([{ text: 'second' }]);
    await waitFor('the event', () => eventsOf(id).length === 2);
    expect(eventsOf(id)[1]).toMatchObject({ type: 'knowledge.ready', previous: { updated_at } });
  });

  it('is rescheduled when its schedule changes, and unscheduled when the schedule is removed', async () => {
    const site = await newSite();
    site.paths.set('/', htmlPage('A', 'first'));
    const { id } = await website(site, ['/']);
    await ended(id);
    const dueInMs = async () => {
      const { due_at } = await rowOf(id);
      return due_at && due_at.getTime() - platform.clock.now().getTime();
    };
    expect(await dueInMs()).toBeNull();
    for (const [every, waitMs] of [['weekly', 7 * dayMs] as const, ['daily', dayMs] as const]) {
      const { body } = await library.request('PATCH', `/sources/${id}`, { refresh: every });
      expect(body).toMatchObject({ refresh: every, status: 'ready' });
      expect(Math.abs((await dueInMs())! - waitMs)).toBeLessThan(minuteMs);
    }
    platform.clock.advance(dayMs);
    await waitFor('the page to be read', () => site.requests.length === 2);
    await waitFor('the next time to be set', async () => (await rowOf(id)).reading_since === null);
    await library.request('PATCH', `/sources/${id}`, { refresh: 'never' });
    expect(await dueInMs()).toBeNull();
  });

  it('is not read while its account is suspended: a running reading ends, and a due source shows why', async () => {
    const own = await openLibrary(platform);
    const site = await newSite();
    const { promise: left, resolve: leave } = Promise.withResolvers<void>();
    site.paths.set('/', htmlPage('Narwhals', 'About narwhals.'));
    site.paths.set('/slow', (_request, response) => void response.on('close', leave));
    const add = async (path: string) =>
      (await own.add({ kind: 'website', url: site.url + path, refresh: 'daily' })).id as string;
    const setStatus = (status: string) => platform.admin('PATCH', `/admin/accounts/${own.account.id}`, { status });
    const endOf = async (id: string) => (await database`select status, error from sources where id = ${id}`)[0];
    const known = await add('/');
    await waitFor('the first to be read', async () => (await own.get(known)).status === 'ready');
    const slow = await add('/slow');
    await waitFor('the second to be requested', () => site.requests.length === 2);
    await setStatus('suspended');
    await left;
    const error = 'The account is suspended';
    await waitFor('its end', async () => (await endOf(slow))!.status !== 'processing');
    expect(await endOf(slow)).toEqual({ status: 'failed', error });
    platform.clock.advance(dayMs);
    await waitFor('the first to be due', async () => (await endOf(known))!.error !== '');
    expect([await endOf(known), site.requests]).toEqual([{ status: 'ready', error }, ['/', '/slow']]);
    await setStatus('active');
    await waitFor('it to be read again', () => {
      platform.clock.advance(60 * minuteMs);
      return site.requests.length > 2;
    });
  });

  it('is retried twice after a failure, stays ready with its old passages, and is due again the next day', async () => {
    const site = await newSite();
    site.paths.set('/', htmlPage('Narwhals', 'About narwhals.'));
    const { id } = await website(site, ['/'], { refresh: 'daily' });
    await ended(id);
    site.paths.delete('/');
    const error = `${site.url}/ cannot be read: it responded with 404`;
    for (const [waitMs, requests] of [
      [dayMs, 2],
      [5 * minuteMs, 3],
    ] as const) {
      platform.clock.advance(waitMs);
      await waitFor('the next attempt to be scheduled', async () => {
        const row = await rowOf(id);
        return site.requests.length === requests && row.reading_since === null && row.tries === requests - 1;
      });
      expect(await library.get(id)).toMatchObject({ status: 'ready', error });
      expect(await library.search('narwhals')).toHaveLength(1);
    }
    const { updated_at } = await library.get(id);
    platform.clock.advance(60 * minuteMs);
    await waitFor('the last attempt', async () => {
      const { reading_since, tries } = await rowOf(id);
      return site.requests.length === 4 && reading_since === null && tries === 0;
    });
    expect(await library.get(id)).toMatchObject({ status: 'ready', error, updated_at });
    expect(await library.search('narwhals')).toHaveLength(1);
    site.paths.set('/', htmlPage('Narwhals', 'About narwhals.'));
    platform.clock.advance(dayMs);
    await waitFor('the next day', async () => (await library.get(id)).error === '');
    expect(site.requests).toHaveLength(5);
    expect(await library.get(id)).toMatchObject({ status: 'ready' });
    expect(eventsOf(id).map(({ type }) => type)).toEqual(['knowledge.ready']);
  });
});
