import { maxPieceLength } from '@customer-platform/documents';
import { startPlatform, waitFor } from '@customer-platform/testkit';
import { docxOf } from '@customer-platform/testkit/documents';
import { afterAll, describe, expect, it } from '@jest/globals';
import { openLibrary } from '../../test/knowledge.ts';

const platform = await startPlatform({ services: ['agents'] });
const library = await openLibrary(platform);
afterAll(() => platform.stop());

/** Waits until a source has been read. Returns it. */
const ended = (id: string, from = library) =>
  waitFor('the source to be read', async () => {
    const source = await from.get(id);
    return source.status !== 'processing' && source;
  });

const uploaded = async (name: string, bytes: string | Buffer) => {
  const { status, body } = await library.upload(name, bytes);
  expect(status).toBe(201);
  return body.id as string;
};

const passagesOf = (id: string) => platform.database('agents')<{ heading_path: string[]; text: string }[]>`
  select heading_path, text from passages where source_id = ${id} order by page, position`;

/** Heading whose 200th UTF-16 unit is a high surrogate. */
const halving = `${'a'.repeat(199)}😀 and more`;
/** More elements than the limit for Readability, so that the page keeps its attributes. */
const vast = '<i></i>'.repeat(15_001);

describe('the text of a document is stored, whatever it contains', () => {
  it('of an article whose heading is cut without splitting a character', async () => {
    const { id } = await library.article('Halved', { body: `# ${halving}\n\nText below.` });
    expect(await ended(id)).toMatchObject({ status: 'ready', error: '' });
    expect(await passagesOf(id)).toEqual([{ heading_path: ['a'.repeat(199)], text: 'Text below.' }]);
  });

  it.each<[string, string | Buffer]>([
    ['halved.md', `# ${halving}\n\nText below.`],
    ['halved.html', `<!doctype html><title>${halving}</title><h2>${halving}</h2><p>Text below.</p>`],
    ['halved.docx', docxOf([{ text: halving, level: 1 }, { text: 'Text below.' }])],
    ['half.docx', docxOf([{ text: 'Text &#xD83D; below.' }, { text: '&#xDE00;', level: 2 }])],
    ['half.html', '<!doctype html><p>Text &#xD83D;&#0; below.</p>'],
  ])('of %s', async (name, bytes) => {
    const id = await uploaded(name, bytes);
    expect(await ended(id)).toMatchObject({ status: 'ready', error: '' });
    for (const { heading_path, text } of await passagesOf(id)) {
      expect([...heading_path, text].every((part) => part.isWellFormed() && !part.includes('\0'))).toBe(true);
    }
  });

  it('of a page that declares its own heading levels, to any depth', async () => {
    const levels = Array.from({ length: 8_000 }, (_, index) => `<p data-heading-level="${index + 1}">w${index}</p>`);
    const id = await uploaded('deep.html', `<!doctype html><body>${vast}${levels.join('')}<div>Text below.</div>`);
    expect(await ended(id)).toMatchObject({ status: 'ready', error: '' });
    const passages = await passagesOf(id);
    expect(passages.every(({ heading_path, text }) => heading_path.length === 0 && text.length <= maxPieceLength)).toBe(
      true,
    );
    expect(passages.at(-1)!.text).toMatch(/w7999\n\nText below\.$/);
  });

  it('of pages with long headings above each text, and a search response stays small', async () => {
    const deep = Array.from({ length: 6 }, (_, index) => {
      return `<h${index + 1} data-heading-level="${index + 7}">${'walrus '.repeat(40)}</h${index + 1}>`;
    });
    const texts = Array.from({ length: 30 }, (_, index) => `<h6>n${index}</h6><p>Text ${index}</p>`);
    const id = await uploaded('long.html', `<!doctype html><body>${vast}${deep.join('')}${texts.join('')}`);
    expect((await ended(id)).status).toBe('ready');
    const passages = await passagesOf(id);
    expect(Math.max(...passages.map(({ heading_path }) => heading_path.length))).toBe(6);
    const { text } = await library.request('POST', '/search', { query: 'walrus', limit: 20 });
    expect(text.length).toBeLessThan(60_000);
  });
});

describe('an article or FAQ of any allowed length becomes ready', () => {
  const characters = 20_000;
  const filled = (part: string) => part.repeat(Math.ceil(characters / part.length)).slice(0, characters);
  const long = Array.from({ length: 5 }, (_, index) => `${'#'.repeat(index + 1)} ${'長'.repeat(200)}\n`).join('');

  it.each<[string, string]>([
    ['of headings alone', filled('# a\n')],
    ['of underlined headings', filled('a\n=\n')],
    ['of sections of one character', filled('# a\nb\n')],
    ['of sections at every level', filled('# a\nb\n## c\nd\n###### e\nf\n')],
    ['of many sections under long headings', long + filled('###### a\nb\n').slice(long.length)],
    ['of one word', filled('a')],
    ['of blanks and a word', `${filled(' ').slice(1)}a`],
    ['of code fences', filled('```\n')],
    ['of characters that are several words each', '\ufdfa'.repeat(characters)],
    ['of characters of two units', '😀'.repeat(characters)],
  ])('an article %s', async (title, body) => {
    const { id } = await library.article(title, { body });
    expect(await ended(id)).toMatchObject({ status: 'ready', error: '' });
    const passages = await passagesOf(id);
    expect(passages.length).toBeLessThanOrEqual(2_000);
    expect(passages.every(({ text }) => text.length > 0 && text.length <= maxPieceLength)).toBe(true);
  });

  it.each([
    ['\ufdfa', '\ufdfa'],
    ['😀', '!'],
    ['a', 'a'],
  ])('an FAQ of %s', async (character, other) => {
    const alternates = Array.from({ length: 20 }, (_, index) => `${index}${character.repeat(198)}`);
    const { id } = await library.add({
      kind: 'faq',
      title: character.repeat(200),
      body: other.repeat(2_000),
      alternates,
      answer_exactly: true,
    });
    expect(await ended(id)).toMatchObject({ status: 'ready', error: '' });
  });
});

it('data that PostgreSQL rejects fails the source at once with a reason, and a temporary error is retried', async () => {
  const database = platform.database('agents');
  await database`
    create function refuse() returns trigger language plpgsql as $$
    begin raise exception using errcode = substr(new.text, 9, 5), message = 'refused'; end $$`;
  await database`
    create trigger refuse before insert on passages for each row when (new.text like 'REFUSED %') execute function refuse()`;
  const add = (code: string) => library.article(`Refused ${code}`, { body: `REFUSED ${code}` });
  for (const code of ['22P02', '22021', '54000']) {
    const { id } = await add(code);
    expect(await ended(id)).toMatchObject({ status: 'failed', error: 'It has text that cannot be stored' });
    const told = await platform.event(library.account.id, 'knowledge.failed', ({ source }) => source.id === id);
    expect(told.data).toMatchObject({ source: { status: 'failed' }, previous: { status: 'processing' } });
  }
  const { id } = await add('40001');
  // The pause before the next attempt starts when the failure is written, not when the source is claimed.
  await waitFor('the failure of the first attempt', async () => {
    const [row] = await database`select last_error from sources where id = ${id}`;
    return row!.last_error !== null;
  });
  await database`drop trigger refuse on passages`;
  platform.clock.advance(60_000);
  expect(await ended(id)).toMatchObject({ status: 'ready' });
});

it('an account can reach one million passages, and beyond that a source fails with a reason', async () => {
  const database = platform.database('agents');
  const own = await openLibrary(platform);
  const kept = await own.article('Kept', { body: 'One.' });
  expect(await ended(kept.id, own)).toMatchObject({ status: 'ready' });
  await database`update libraries set passages = 999_999 where account_id = ${own.account.id}`;
  const last = await own.article('Last', { body: 'Two.' });
  expect(await ended(last.id, own)).toMatchObject({ status: 'ready', error: '' });
  const refused = await own.article('Refused', { body: 'Three.' });
  expect(await ended(refused.id, own)).toMatchObject({
    status: 'failed',
    error: 'The knowledge is full; all sources together may have at most 1,000,000 passages',
  });
  expect(await passagesOf(refused.id)).toEqual([]);
  // Changing an existing source adds no passages.
  await own.account.client.agents.knowledge.sources.update({ params: { source_id: last.id }, body: { body: 'Four.' } });
  expect(await ended(last.id, own)).toMatchObject({ status: 'ready', error: '' });
  expect(await passagesOf(last.id)).toMatchObject([{ text: 'Four.' }]);
  // After another source is deleted, a refresh succeeds.
  await own.account.client.agents.knowledge.sources.delete({ params: { source_id: kept.id } });
  await own.account.client.agents.knowledge.sources.refresh({ params: { source_id: refused.id } });
  expect(await ended(refused.id, own)).toMatchObject({ status: 'ready', error: '' });
});
