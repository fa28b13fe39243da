import { inTransaction } from '@customer-platform/service-kit';
import { startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { invalid, openLibrary } from '../../test/knowledge.ts';
import { searchPassages } from './search.ts';

const platform = await startPlatform({ services: ['agents'] });
afterAll(() => platform.stop());

const textsOf = (found: { text: string }[]) => found.map(({ text }) => text);

describe('a search', () => {
  it('returns passages with their source and their headings', async () => {
    const library = await openLibrary(platform);
    const { id } = await library.article('Returns');
    await library.read(id, [{ heading_path: ['Help', 'Returning'], text: 'Send it back within 30 days.' }]);
    const { data } = await library.account.client.agents.knowledge.search({
      body: { query: 'How do I send it back?' },
    });
    const source = { id, kind: 'article', title: 'Returns' };
    const passage = { text: 'Send it back within 30 days.', heading_path: ['Help', 'Returning'], source };
    expect(data).toEqual([{ ...passage, score: expect.any(Number) }]);
    expect(data[0]!.score).toBeGreaterThan(0);
  });

  it('finds other forms of a word, and passages with one of many words', async () => {
    const library = await openLibrary(platform);
    const { id } = await library.article('Shop');
    await library.read(id, ['We are shipping to Peru on Mondays', 'Returns are free']);
    const found = await library.search('My neighbour wonders whether you shipped anything yesterday');
    expect(textsOf(found)).toEqual(['We are shipping to Peru on Mondays']);
    expect(await library.search('what is it that you are')).toEqual([]);
    expect(await library.search('zebra')).toEqual([]);
    expect(await library.search('?!')).toEqual([]);
  });

  it('ranks a rare word above frequent ones, and more of them above fewer', async () => {
    const library = await openLibrary(platform);
    const { id } = await library.article('Shop');
    const common = Array.from({ length: 30 }, (_, index) => `Order delivery shop number ${index}`);
    await library.read(id, [...common, 'The shop in Lima', 'The shop in Lima repairs watches']);
    const found = await library.search('order delivery shop watches Lima', { limit: 20 });
    expect(textsOf(found).slice(0, 2)).toEqual(['The shop in Lima repairs watches', 'The shop in Lima']);
    expect(found).toHaveLength(20);
    const scores = found.map(({ score }) => score);
    expect(scores).toEqual([...scores].sort((one, other) => other - one));
  });

  it('ranks titles and headings above text', async () => {
    const library = await openLibrary(platform);
    const [one, two, three] = [
      await library.article('A'),
      await library.article('Warranty'),
      await library.article('B'),
    ];
    await library.read(one.id, ['Of the warranty']);
    await library.read(two.id, ['It lasts two years']);
    await library.read(three.id, [{ heading_path: ['Warranty'], text: 'It begins today' }]);
    const found = textsOf(await library.search('warranty'));
    expect(found).toHaveLength(3);
    expect(found[2]).toBe('Of the warranty');
  });

  it.each([
    ['de', 'Häuser in Lübeck', 'Haus'],
    ['de-AT', 'Wir liefern die Bestellungen', 'Wann wird meine Bestellung geliefert?'],
    ['fr', 'Nous vendons des chaises', "Qu'est-ce qu'une chaise ?"],
  ])('uses the language %s of the account', async (language, text, query) => {
    const library = await openLibrary(platform, { language });
    const { id } = await library.article('A');
    await library.read(id, [text], language);
    expect(textsOf(await library.search(query))).toEqual([text]);
  });

  it('accepts any text as a query', async () => {
    const library = await openLibrary(platform);
    const { id } = await library.article('A');
    await library.read(id, [`It's C:\\path & (a|b) !c <-> 'quoted' example.com/page?x=1 a@b.example 7`]);
    for (const query of [`'`, `\\`, `it's & | ! ( ) : * <->`, `'quoted' \\path`, 'a@b.example', '😀', '\ufdfa']) {
      expect(await library.request('POST', '/search', { query })).toMatchObject({ status: 200 });
    }
    expect(await library.search(`"a@b.example"`)).toHaveLength(1);
    expect(await library.search(`example.com/page?x=1`)).toHaveLength(1);
    expect(await library.search(Array.from({ length: 250 }, (_, index) => index % 10).join(' '))).toHaveLength(1);
  });

  it.each([
    ['query', {}],
    ['query', { query: '' }],
    ['query', { query: 'q'.repeat(501) }],
    ['limit', { query: 'a', limit: 0 }],
    ['limit', { query: 'a', limit: 21 }],
    ['collection', { query: 'a', collection: 999_999_999 }],
  ])('is refused naming %s: case %#', async (field, body) => {
    const library = await openLibrary(platform);
    expect(await library.request('POST', '/search', body)).toMatchObject(invalid(field));
  });

  it('finds nothing of another account', async () => {
    const [library, other] = [await openLibrary(platform), await openLibrary(platform)];
    const { id } = await other.article('Elephants');
    await other.read(id, ['Elephants are big']);
    expect(await other.search('elephants')).toHaveLength(1);
    expect(await library.search('elephants')).toEqual([]);
  });

  it('finds all passages of a source that is written in batches, and none once it is inactive', async () => {
    const library = await openLibrary(platform);
    const { id } = await library.article('Many');
    const texts = Array.from({ length: 600 }, (_, index) => `text${index}x`);
    await library.read(id, texts);
    for (const text of ['text0x', 'text74x', 'text75x', 'text599x'])
      expect(await library.search(text)).toMatchObject([{ text }]);
    const database = platform.database('agents');
    const active = async () =>
      (await database`select from passages where account_id = ${library.account.id} and active`).length;
    expect(await active()).toBe(600);
    await library.account.client.agents.knowledge.sources.update({
      params: { source_id: id },
      body: { active: false },
    });
    expect(await active()).toBe(0);
    expect(await library.search('text599x')).toEqual([]);
  });
});

describe('texts in every language', () => {
  /** Texts, and queries that find them even in accounts of other languages. */
  const said: [name: string, text: string, queries: string[]][] = [
    [
      'Japanese',
      '当店の定休日は月曜日です。緑茶とﾃﾞｻﾞｰﾄもあります。',
      ['定休日', '月曜日はお休みですか', '茶', 'デザート', '茶は'],
    ],
    ['Simplified Chinese', '我们的营业时间是早上九点到晚上八点，周一休息。', ['营业时间', '請問，营业时间？', '早']],
    ['Traditional Chinese', '本店營業時間為上午十點至晚上九點。', ['營業時間', '上午', '點']],
    ['Korean', '매장은 아침 열 시에 엽니다. 물은 무료입니다.', ['매장', '매장이 어디예요', '무료', '물']],
    ['Thai', 'ร้านของเราเปิดทุกวันตั้งแต่เก้าโมงเช้า มีน้ำดื่มฟรี', ['เปิดทุกวัน', 'น้ำดื่ม', 'ร้านเปิดกี่โมง']],
    ['Thai with more marks than a word in PostgreSQL has', `แมวดำ ก${'\u0e48'.repeat(1_100)}ข`, ['แมวดำ']],
    ['Lao', 'ຮ້ານຂອງພວກເຮົາເປີດທຸກມື້', ['ເປີດທຸກມື້', 'ພວກເຮົາ']],
    ['Khmer', 'ហាងរបស់យើងបើករាល់ថ្ងៃ', ['រាល់ថ្ងៃ', 'ហាង']],
    ['Burmese', 'ကျွန်ုပ်တို့ဆိုင်ကို နေ့တိုင်းဖွင့်ပါသည်။', ['ဆိုင်', 'နေ့တိုင်း']],
    [
      'German',
      'Unsere Öffnungs\u00adzeiten in der Hauptstraße',
      ['Öffnungszeiten', 'HAUPTSTRASSE', 'offnungs\u200bzeiten', 'ＨＡＵＰＴｓｔｒａßｅ'],
    ],
    ['Turkish', 'Işıklı kapı İstanbul yolunda', ['ışıklı', 'ISIKLI', 'istanbul', 'IŞIKLI', 'kapi']],
    ['Arabic', 'مَوَاعِيدُ العَمَل مـــن أحمد', ['مواعيد', 'مـواعيد', 'احمد', 'العمل']],
    ['Hebrew', 'שְׁעוֹת הַפְּתִיחָה', ['שעות', 'הפתיחה']],
    ['Hindi', 'हमारी दुकान सुबह खुलती है', ['दुकान', 'सुबह की दुकान']],
    ['Persian', 'ما می\u200cخواهیم بخریم', ['میخواهیم', 'می\u200cخواهیم']],
    ['Vietnamese', 'Đường đến cửa hàng', ['đường', 'duong', 'CUA HANG', 'ĐƯỜNG']],
    ['Russian', 'Наш новый ёлочный йогурт', ['елочный', 'йогурт', 'НОВЫЙ']],
    ['Greek', 'Ώρες λειτουργίας ΚΑΙ δρόμος', ['ωρες', 'ΔΡΟΜΟΣ', 'λειτουργιας']],
    ['French', 'L’hôtel est à côté', ['hotel', 'Hôtel', 'HO\u0302TEL', 'hôtél']],
  ];

  it.each(['en', 'ja', 'tr', 'ar'])(
    'are found by words inside a sentence in an account with the language %s',
    async (language) => {
      const library = await openLibrary(platform, { language });
      const { id } = await library.article('A');
      const texts = said.map(([, text]) => text);
      await library.read(id, ['Nothing of it', ...texts], language);
      const missed: unknown[] = [];
      for (const [name, text, queries] of said) {
        for (const query of queries) {
          const found = textsOf(await library.search(query));
          if (found[0] !== text) missed.push([name, query, found]);
        }
      }
      expect(missed).toEqual([]);
    },
  );

  it('are found as titles, headings, and questions of FAQs', async () => {
    const library = await openLibrary(platform, { language: 'fr' });
    for (const [name, text, [query]] of said) {
      const title = text.slice(0, 100);
      const [article, faq] = [await library.article(title), await library.add({ kind: 'faq', title, body: 'Yes.' })];
      await library.read(article.id, [`In ${name}`], 'fr');
      await library.read(faq.id, [`Answer in ${name}`], 'fr');
      expect(textsOf(await library.search(query!)).slice(0, 2)).toEqual([`Answer in ${name}`, `In ${name}`]);
    }
  });

  it('are found despite invisible characters in them or in the query', async () => {
    const library = await openLibrary(platform);
    const { id } = await library.article('A');
    const invisible = [
      '\u00ad',
      '\u200b',
      '\u200c',
      '\u200d',
      '\u2060',
      '\ufeff',
      '\ufe0f',
      '\u{e0101}',
      '\u115f',
      '\u3164',
      '\uffa0',
      '\u034f',
      '\u180e',
    ];
    for (const mark of invisible) {
      await library.read(id, [`Opening${mark}hours 定${mark}休日`]);
      const found = async (query: string) => (await library.search(query)).length;
      for (const query of ['openinghours', '定休日', `open${mark}inghours`, `定休${mark}日`])
        expect([mark, query, await found(query)]).toEqual([mark, query, 1]);
    }
  });

  it('rank first if their accents match the query, and words do not match by shared characters', async () => {
    const library = await openLibrary(platform, { language: 'fr' });
    const { id } = await library.article('A');
    await library.read(id, ['hôtel hôtel hôtel', 'hotel', 'hötel', '定期は休日', '定休'], 'fr');
    const scores = async (query: string) =>
      Object.fromEntries((await library.search(query)).map(({ text, score }) => [text, score]));
    expect(Object.keys(await scores('hotel'))).toEqual(['hotel', 'hôtel hôtel hôtel', 'hötel']);
    expect(Object.keys(await scores('hôtel'))[0]).toBe('hôtel hôtel hôtel');
    expect(Object.keys(await scores('hôtel')).sort()).toEqual(['hotel', 'hôtel hôtel hôtel', 'hötel']);
    expect(Object.keys(await scores('定休'))).toEqual(['定休']);
    const ofDay = await scores('定休日');
    expect(ofDay).toEqual({ 定休: expect.any(Number), 定期は休日: expect.any(Number) });
  });
});

describe('search results', () => {
  it('come from active sources that were read, including reactivated sources and those being read again', async () => {
    const library = await openLibrary(platform);
    const { id } = await library.article('Elephants');
    await library.read(id, ['Elephants are big']);
    const patch = (change: unknown) => library.request('PATCH', `/sources/${id}`, change);
    const isFound = async () => (await library.search('elephants')).length === 1;
    await patch({ active: false });
    expect(await isFound()).toBe(false);
    await patch({ active: true });
    expect(await isFound()).toBe(true);
    const database = platform.database('agents');
    await database`update sources set status = 'processing' where id = ${id}`;
    expect(await isFound()).toBe(true);
    await database`update sources set status = 'failed' where id = ${id}`;
    expect(await isFound()).toBe(false);
  });

  it('come from one collection, and follow their source to another', async () => {
    const library = await openLibrary(platform);
    const { body: help } = await library.request('POST', '/collections', { name: 'Help' });
    const [one, two] = [await library.article('One'), await library.article('Two', { collection: help.id })];
    await library.read(one.id, ['Elephants are big']);
    await library.read(two.id, ['Elephants are grey']);
    const found = async (collection: number) => textsOf(await library.search('elephants', { collection }));
    expect(await found(help.id)).toEqual(['Elephants are grey']);
    expect(await found(one.collection.id)).toEqual(['Elephants are big']);
    await library.request('PATCH', `/sources/${one.id}`, { collection: help.id });
    expect((await found(help.id)).sort()).toEqual(['Elephants are big', 'Elephants are grey']);
    expect(await found(one.collection.id)).toEqual([]);
  });

  it('come from a small collection among very many passages with the same words', async () => {
    const library = await openLibrary(platform);
    const { body: help } = await library.request('POST', '/collections', { name: 'Help' });
    const many = await library.article('Many');
    await library.read(many.id, Array(1_500).fill('Elephants are big'));
    const one = await library.article('One', { collection: help.id });
    await library.read(one.id, ['Big elephants are grey']);
    const found = await library.search('big elephants', { collection: help.id });
    expect(textsOf(found)).toEqual(['Big elephants are grey']);
  });

  it('contain most words of the query if each word is frequent', async () => {
    const library = await openLibrary(platform);
    const { id } = await library.article('Many');
    const animals = ['elephant', 'tiger', 'zebra', 'lion'];
    const texts = Array.from({ length: 2_000 }, (_, index) => `The ${animals[index % 4]} number ${index}`);
    await library.read(id, [...texts, 'A lion, a tiger and a zebra']);
    const found = await library.search('elephant, tiger, zebra or lion?');
    expect(found[0]!.text).toBe('A lion, a tiger and a zebra');
    expect(found).toHaveLength(10);
  });

  it('are current after passages are replaced, as a whole or page by page', async () => {
    const library = await openLibrary(platform);
    const { id } = await library.article('A');
    await library.read(id, ['Elephants', 'Tigers']);
    await library.read(id, ['Zebras']);
    expect(await library.search('elephants tigers')).toEqual([]);
    expect(await library.search('zebras')).toHaveLength(1);
    const database = platform.database('agents');
    const known = await database`
      select word, passages::int from words where account_id = ${library.account.id} order by word`;
    expect([...known]).toEqual([{ word: 'zebra', passages: 1 }]);
  });
});

it('passages that an older version indexed are found as before until they are indexed again', async () => {
  const library = await openLibrary(platform);
  const [article, faq] = [
    await library.article('A'),
    await library.add({ kind: 'faq', title: 'Straße?', body: 'Yes.', answer_exactly: true }),
  ];
  const texts = ['定休日は月曜日です hôtel', ...Array.from({ length: 120 }, (_, index) => `Elephants text${index}x`)];
  await library.read(article.id, texts);
  await library.read(faq.id, ['Yes.']);
  const database = platform.database('agents');
  const known = () => database`select word, passages from words where account_id = ${library.account.id} order by word`;
  const current = await known();
  await inTransaction(database, async (tx) => {
    await tx`
      update passages set words_version = 0, words = setweight(to_tsvector('english', text), 'D'),
        questions = case when questions is null then null else array['straße'] end
      where account_id = ${library.account.id}`;
    await tx`delete from words where account_id = ${library.account.id}`;
    await tx`
      insert into words select account_id, word, count(*) from passages, unnest(tsvector_to_array(words)) as word
      where account_id = ${library.account.id} group by 1, 2`;
  });
  expect(await library.search('elephants text7x')).toMatchObject([{ text: 'Elephants text7x' }, ...Array(9).fill({})]);
  await library.article('Wakes what waits');
  await waitFor(
    'the passages to be indexed',
    async () => {
      const left = await database`select from passages where account_id = ${library.account.id} and words_version = 0`;
      return left.length === 0;
    },
    30_000,
  );
  for (const query of ['定休日', 'hotel']) expect(textsOf(await library.search(query))).toEqual([texts[0]]);
  expect(textsOf(await library.search('STRASSE'))).toEqual(['Yes.']);
  expect(await library.search('elephants text7x')).toHaveLength(10);
  const ofTitle = (word: { word: string }) => /^(wake|wait|someth)/.test(word.word);
  expect((await known()).filter((word) => !ofTitle(word as never))).toEqual([...current]);
});

describe('an FAQ', () => {
  const faq = { kind: 'faq', title: 'Who are you?', body: 'We are a shop.', answer_exactly: true };

  it('is found by its question and by alternates', async () => {
    const library = await openLibrary(platform);
    const { id } = await library.add({ ...faq, title: 'Do you ship abroad?', alternates: ['Delivery to Peru'] });
    await library.read(id, ['Yes, everywhere.']);
    expect(await library.search('shipping')).toMatchObject([{ text: 'Yes, everywhere.' }]);
    expect(await library.search('is there any delivery for my cousin')).toHaveLength(1);
  });

  it('with answer_exactly ranks first for its question, in any case and punctuation', async () => {
    const library = await openLibrary(platform);
    const [asked, other] = [await library.add(faq), await library.article('Who are you? Who are you?')];
    await library.read(asked.id, [faq.body]);
    await library.read(other.id, ['Shop shop shop']);
    expect(await library.search('WHO, are you')).toMatchObject([{ text: faq.body }]);
    expect(textsOf(await library.search('shop'))).toEqual(['Shop shop shop', faq.body]);
    await library.request('PATCH', `/sources/${asked.id}`, { answer_exactly: false });
    expect(await library.search('WHO, are you')).toEqual([]);
  });

  it('with answer_exactly ranks first if one of its questions has all words of the query', async () => {
    const library = await openLibrary(platform);
    const [one, two] = [
      await library.add({ ...faq, title: 'Can I pay with Bitcoin?', alternates: ['What about a cheque in Peru?'] }),
      await library.article('Bitcoin Peru Bitcoin'),
    ];
    await library.read(one.id, ['No.']);
    await library.read(two.id, ['Bitcoin in Peru and Bitcoin', 'What to pay']);
    const first = async (query: string) => (await library.search(query))[0]!.text;
    expect(await first('paying with bitcoins')).toBe('No.');
    expect(await first('cheque?')).toBe('No.');
    const account = { id: library.account.id, language: 'en' };
    const exact = async (query: string) =>
      (await searchPassages(platform.database('agents'), account, { query, limit: 3 })).map((found) => found.exact);
    expect(await exact('pay bitcoins')).toEqual([true, false, false]);
    expect(await exact('Bitcoin in Peru')).toEqual([false, false, false]);
    expect(await exact('pay bitcoins yesterday')).toEqual([false, false, false]);
    const scores = (await library.search('pay bitcoin')).map(({ score }) => score);
    expect(scores).toEqual([...scores].sort((less, more) => more - less));
    expect(await library.search('pay bitcoin', { limit: 1 })).toHaveLength(1);
  });
});

it("concurrent changes of texts leave the account's statistics correct", async () => {
  const library = await openLibrary(platform);
  const sources = await Promise.all(Array.from({ length: 6 }, (_, index) => library.article(`Source ${index}`)));
  const texts = ['Elephants tigers zebras', 'Zebras lions elephants'];
  await Promise.all(
    sources.flatMap(({ id }) => [
      library.read(id, texts),
      library.read(id, texts.toReversed()),
      library.read(id, texts),
    ]),
  );
  const rows = await platform.database('agents')`
    select word, w.passages as known, count(p) as present from words w
    join libraries l on l.account_id = w.account_id
    left join passages p on p.account_id = w.account_id and w.word = any(tsvector_to_array(p.words))
    where w.account_id = ${library.account.id} and l.passages = 12 group by word, w.passages`;
  expect(rows.map(({ word }) => word)).toEqual(expect.arrayContaining(['eleph', 'tiger', 'zebra', 'lion', 'sourc']));
  for (const { known, present } of rows) expect(known).toBe(present);
});
