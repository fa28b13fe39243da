import { startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { type Library, openLibrary } from '../../test/knowledge.ts';
import { comparableQuestion, hasSymbolsOf } from './comparable-question.ts';
import { searchPassages } from './search.ts';

const platform = await startPlatform({ services: ['agents'] });
afterAll(() => platform.stop());

describe('normalizing a question', () => {
  it.each([
    ['  Who’s  THERE?! ﬁne… ', "who's there fine"],
    ['WHO, are\tyou', 'who are you'],
    ['¿Cuánto cuesta "el té"?', 'cuánto cuesta el té'],
    ['…and then?', 'and then'],
    ['Do you sell C++?', 'do you sell c++'],
    ['Do you sell C#?', 'do you sell c#'],
    ['-5 degrees?', '-5 degrees'],
    ['Do you have 5" and 5\' pipes?', 'do you have 5" and 5\' pipes'],
    ['.NET, or 3.5?', '.net or 3.5'],
    ['50 % off!', '50 % off'],
    ['お茶はありますか？', 'お茶はありますか'],
    ['👍️!', '👍'],
    ['定休日は、いつですか？', '定休日は、いつですか'],
    ['你们几点关门？！', '你们几点关门'],
    ['ร้านเปิดกี่โมง', 'ร้านเปิดกี่โมง'.normalize('NFKC')],
    ['តើបើកម៉ោងប៉ុន្មាន៖ ឬទេ។', 'តើបើកម៉ោងប៉ុន្មាន ឬទេ'],
    ['ဘယ်အချိန်ဖွင့်လဲ။', 'ဘယ်အချိန်ဖွင့်လဲ'],
    ['متى تفتحون؟', 'متى تفتحون'],
    ['WO IST DIE STRASSE\u00ad?', 'wo ist die strasse'],
    ['Wo ist die Straße\u{e0101}?', 'wo ist die strasse'],
    ['!!!', '!!!'],
    [' ? ! ', '? !'],
    ['…', '...'],
  ])('%j is %j', (question, compared) => {
    expect(comparableQuestion(question)).toBe(compared);
  });

  it.each([
    ['Do you sell C++?', 'sell c++', true],
    ['Do you sell C++?', 'sell C#', false],
    ['Do you sell C++?', 'sell C', false],
    ['Do you sell C, or C++?', 'sell C', true],
    ['Do you sell C?', 'sell C++', false],
    ['Is it free above 50 €?', 'free above 50 €!', true],
    ['Is it free above 50 €?', 'free above 50 $', false],
    ['Where are you?', 'where are you?! 😀', true],
    ['What does -v do?', 'what does v do', false],
    ['Can I pay with Bitcoin?', 'paying with bitcoins', true],
    ['Is there wi-fi?', 'wi-fi - please', true],
  ])('%j has the symbols of %j: %s', (question, query, has) => {
    expect(hasSymbolsOf(query)(question)).toBe(has);
  });

  it('limits the length, even if characters expand to many', () => {
    for (const marks of ['.', '"', '?!', '¿', "5'"]) {
      expect(comparableQuestion(`a${marks.repeat(100_000)}a`).length).toBeLessThanOrEqual(1_000);
    }
    expect(comparableQuestion('\ufdfa'.repeat(500))).toHaveLength(1_000);
    const symbols = Array.from({ length: 5_000 }, (_, index) => `+${index}`).join(' ');
    expect(hasSymbolsOf(symbols.replaceAll('+', '-'))(symbols)).toBe(false);
    expect(hasSymbolsOf('\ufdfa '.repeat(2_000))('\ufdfa '.repeat(2_000))).toBe(true);
    const hasSymbols = hasSymbolsOf(`c++ ${'\ufdfa'.repeat(496)}`);
    // The maximum number compared with one query.
    for (let count = 0; count < 100; count++) expect(hasSymbols(`c# ${'\ufdfa'.repeat(190)}`)).toBe(false);
  });
});

describe('an FAQ with answer_exactly', () => {
  async function withFaqs(questions: Record<string, string[]>): Promise<Library> {
    const library = await openLibrary(platform);
    for (const [title, alternates] of Object.entries(questions)) {
      const body = `Answer to ${title}`;
      const { id } = await library.add({ kind: 'faq', title, alternates, body, answer_exactly: true });
      await waitFor('the FAQ to be read', async () => (await library.get(id)).status === 'ready');
    }
    return library;
  }

  const exactOf = async (library: Library, query: string) => {
    const account = { id: library.account.id, language: 'en' };
    const found = await searchPassages(platform.database('agents'), account, { query, limit: 20 });
    return found.filter(({ exact }) => exact).map(({ text }) => text.slice('Answer to '.length));
  };

  it('answers its own question but not one that differs by a symbol', async () => {
    const library = await withFaqs({ 'Do you sell C++?': [], '-5 degrees?': ['Is 5% frost harmful?'] });
    expect(await exactOf(library, 'do you sell c++')).toEqual(['Do you sell C++?']);
    expect(await exactOf(library, 'sell C++')).toEqual(['Do you sell C++?']);
    for (const other of ['Do you sell C#?', 'Do you sell C?', 'sell C', '5 degrees?', 'degrees 5', 'frost 5€']) {
      expect([other, await exactOf(library, other)]).toEqual([other, []]);
    }
    expect(await exactOf(library, '-5 Degrees!')).toEqual(['-5 degrees?']);
    expect(await exactOf(library, 'harmful 5%')).toEqual(['-5 degrees?']);
    await library.add({ kind: 'faq', title: 'Do you sell C#?', body: 'Answer to C#', answer_exactly: true });
    await waitFor('the other', async () => (await exactOf(library, 'Do you sell C#?'))[0] === 'C#');
  });

  it('is found by stop words alone, with emoji or invisible characters, in any script', async () => {
    const library = await withFaqs({
      'Who are you?': [],
      '定休日はいつですか？': ['休みは?'],
      'Is it you? ❤️': ['매장은 어디에 있나요?'],
    });
    for (const query of ['who are you 😀', 'Who are you?👍🏽🇩🇪', 'who\u200b are you', 'WHO ARE YOU ❤️'])
      expect([query, await exactOf(library, query)]).toEqual([query, ['Who are you?']]);
    for (const query of ['定休日はいつですか', '定休日は…いつですか?', '休みは？🙏', '定休日'])
      expect([query, await exactOf(library, query)]).toEqual([query, ['定休日はいつですか？']]);
    for (const query of ['is it you ❤', 'Is it you? ❤️', '매장은 어디에 있나요？', '매장 어디'])
      expect([query, await exactOf(library, query)]).toEqual([query, ['Is it you? ❤️']]);
    for (const query of ['休', 'は', '定期の休日', 'who is it', '매장 언제'])
      expect([query, await exactOf(library, query)]).toEqual([query, []]);
  });

  it('is found if its question is only punctuation', async () => {
    const library = await withFaqs({ '!!!': [], '👍': ['ok?'] });
    expect(await exactOf(library, '!!!')).toEqual(['!!!']);
    expect(await exactOf(library, '👍')).toEqual(['👍']);
    expect(await exactOf(library, '👍️ !')).toEqual(['👍']);
    expect(await exactOf(library, '???')).toEqual([]);
    expect((await library.search('!!!')).map(({ title }) => title)).toEqual(['!!!']);
  });
});
