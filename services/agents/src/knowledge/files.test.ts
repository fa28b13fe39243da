import { startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { invalid, openLibrary } from '../../test/knowledge.ts';

const platform = await startPlatform({ services: ['agents'] });
afterAll(() => platform.stop());

describe('an uploaded file', () => {
  it('becomes a source named after the file', async () => {
    const library = await openLibrary(platform);
    const response = await library.upload('prices 2026.md', '# Prices\n\nOne euro.');
    const source = {
      id: expect.any(String),
      kind: 'file',
      title: 'prices 2026.md',
      status: 'processing',
      error: '',
      collection: { id: expect.any(Number), name: 'General' },
      active: true,
      updated_at: expect.any(String),
      file_type: 'md',
      size_bytes: 19,
    };
    expect([response.status, response.body]).toEqual([201, source]);
    const shown = await library.get(response.body.id);
    expect(shown).toMatchObject({ title: 'prices 2026.md', file_type: 'md', size_bytes: 19 });
    const rows = await platform.database('agents')`
      select convert_from(bytes, 'UTF8') as text from files
      where account_id = ${library.account.id} and source_id = ${response.body.id}`;
    expect([...rows]).toEqual([{ text: '# Prices\n\nOne euro.' }]);
  });

  it('gets the given title, collection and activity', async () => {
    const library = await openLibrary(platform);
    const { body: collection } = await library.request('POST', '/collections', { name: 'Help' });
    const more = { title: 'Our prices', collection: String(collection.id), active: 'false' };
    const { body } = await library.upload('a.txt', 'Text', more);
    expect(body).toMatchObject({ title: 'Our prices', collection: { name: 'Help' }, active: false });
    const client = await library.account.client.agents.knowledge.files.upload({
      body: { file: new File(['x,y'], 'a.csv') },
    });
    expect(client).toMatchObject({ title: 'a.csv', file_type: 'csv', size_bytes: 3 });
  });

  it.each<[string, Buffer, string, string]>([
    ['excel.csv', Buffer.from('Größe;Preis\r\nS;3,50\r\n', 'latin1'), 'csv', 'Größe: S\nPreis: 3,50'],
    ['excel.csv', Buffer.from('\ufeff尺寸\t价格\r\n小\t3\r\n', 'utf16le'), 'csv', '尺寸: 小\n价格: 3'],
    ['memo.txt', Buffer.from('ราคา 50 บาท', 'utf16le').swap16(), 'txt', 'ราคา 50 บาท'],
    ['page.html', Buffer.from('<title>A</title><meta charset=euc-kr><p>\xb8\xc5\xc0\xcf', 'latin1'), 'html', '매일'],
  ])('is read in the encoding of the program that wrote it: %s, case %#', async (name, bytes, file_type, text) => {
    const library = await openLibrary(platform);
    const { body } = await library.upload(name, bytes);
    expect(body).toMatchObject({ file_type });
    await waitFor('the file to be read', async () => (await library.get(body.id)).status === 'ready');
    const rows = await platform.database('agents')`select text from passages where source_id = ${body.id}`;
    expect([...rows]).toEqual([{ text }]);
  });

  it('that is large is stored byte for byte, even with many concurrent uploads', async () => {
    const library = await openLibrary(platform);
    const texts = Array.from({ length: 6 }, (_, index) => `${index} and more. `.repeat(200_000));
    const responses = await Promise.all(texts.map((text, index) => library.upload(`${index}.txt`, text)));
    expect(responses.map(({ status }) => status)).toEqual(Array(6).fill(201));
    for (const [index, { body }] of responses.entries()) {
      const parts = await platform.database('agents')<{ bytes: Buffer }[]>`
        select bytes from files where account_id = ${library.account.id} and source_id = ${body.id} order by part`;
      expect(parts.length).toBeGreaterThan(2);
      expect(Buffer.concat(parts.map(({ bytes }) => bytes)).toString() === texts[index]).toBe(true);
    }
  });

  it("is refused if the account's files already take 4,096 MiB", async () => {
    const library = await openLibrary(platform);
    const { body } = await library.upload('a.txt', 'Text');
    await platform.database('agents')`
      insert into files (account_id, source_id, part, bytes)
      select ${library.account.id}, ${body.id}, n, '' from generate_series(1, 4094) as n`;
    expect((await library.upload('b.txt', 'More')).status).toBe(201);
    const refused = await library.upload('c.txt', 'One more');
    expect(refused.status).toBe(409);
    expect(refused.body.error).toMatchObject({ code: 'invalid_state', message: expect.stringContaining('4096 MiB') });
    await library.account.client.agents.knowledge.sources.delete({ params: { source_id: body.id } });
    expect((await library.upload('c.txt', 'One more')).status).toBe(201);
  });

  it('gets a title of at most 200 characters, without directories', async () => {
    const library = await openLibrary(platform);
    expect((await library.upload(`C:\\docs\\a/${'😀'.repeat(210)}`, 'One')).body.title).toBe('😀'.repeat(200));
    expect((await library.upload('a.txt', 'Two')).body.title).toBe('a.txt');
    expect((await library.upload('a.txt', 'Three')).status).toBe(201);
  });

  it.each([
    ['file', 'a.txt', '', {}],
    ['file', 'a.json', '{}', {}],
    ['file', 'a.txt', 'Hello\0World!', {}],
    ['title', 'a.txt', 'x', { title: '' }],
    ['title', 'a.txt', 'x', { title: '  ' }],
    ['title', 'a.txt', 'x', { title: 't'.repeat(201) }],
    ['collection', 'a.txt', 'x', { collection: '999999999' }],
    ['collection', 'a.txt', 'x', { collection: 'General' }],
    ['active', 'a.txt', 'x', { active: 'yes' }],
  ])('is refused naming %s: case %#', async (field, name, bytes, more) => {
    const library = await openLibrary(platform);
    expect(await library.upload(name, bytes, more as Record<string, string>)).toMatchObject(invalid(field));
    expect((await library.account.client.agents.knowledge.sources.list()).data).toEqual([]);
  });

  it("is stored once: the same bytes are refused with the existing source's title, even concurrently", async () => {
    const library = await openLibrary(platform);
    const names = Array.from({ length: 20 }, (_, index) => `${index}.txt`);
    const responses = await Promise.all(names.map((name) => library.upload(name, 'The same')));
    const taken = responses.filter(({ status }) => status === 201);
    expect(taken).toHaveLength(1);
    // Only a few large bodies are read at once; other requests get 503.
    const refused = await library.upload('again.txt', 'The same');
    expect(refused).toMatchObject(invalid('file'));
    expect(refused.body.error.message).toContain(taken[0]!.body.title);
    expect(responses.filter(({ status }) => ![201, 400, 503].includes(status))).toEqual([]);
    const other = await openLibrary(platform);
    expect(await other.upload('a.txt', 'The same')).toMatchObject({ status: 201 });
  });

  it('has at most 20 MiB', async () => {
    const library = await openLibrary(platform);
    const most = 20 * 1_048_576;
    expect(await library.upload('most.txt', 'x'.repeat(most))).toMatchObject({
      status: 201,
      body: { size_bytes: most },
    });
    expect(await library.upload('more.txt', 'x'.repeat(most + 1))).toMatchObject(invalid('file', 413));
    const far = await library.upload('far.txt', 'x'.repeat(most + 2_000_000));
    expect(far).toMatchObject({ status: 413, body: { error: { code: 'invalid_request' } } });
  }, 30_000);

  it('is refused if the body has no file or is not a form', async () => {
    const library = await openLibrary(platform);
    const form = new FormData();
    form.append('file', 'text');
    const headers = { authorization: `Bearer ${library.account.key}` };
    const post = async (body: FormData | string) => {
      const url = `${platform.gatewayUrl}/v1/agents/knowledge/files`;
      const response = await fetch(url, { method: 'POST', headers, body });
      return { status: response.status, body: await response.json() };
    };
    expect(await post(form)).toMatchObject(invalid('file'));
    expect(await post(new FormData())).toMatchObject({ status: 400 });
    expect(await post('{}')).toMatchObject(invalid('body'));
  });
});
