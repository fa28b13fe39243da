import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { splitCsv } from './csv.ts';
import { cutText, maxPieceLength, Unreadable } from './pieces.ts';
import { splitMarkdown, splitText } from './split.ts';

const paths = (markdown: string) => splitMarkdown(markdown).map(({ heading_path, text }) => [...heading_path, text]);

describe('splitMarkdown', () => {
  it('splits at headings, which form the heading path, outermost first', () => {
    const markdown = '# Shop\nOpen daily.\n\n## Delivery ##\n\nBy bike.\n\n### Costs\n\nFree.\n## Returns\nIn 30 days.';
    expect(paths(markdown)).toEqual([
      ['Shop', 'Open daily.'],
      ['Shop', 'Delivery', 'By bike.'],
      ['Shop', 'Delivery', 'Costs', 'Free.'],
      ['Shop', 'Returns', 'In 30 days.'],
    ]);
  });

  it('treats an underlined paragraph as a heading, but not a rule, a list or a table', () => {
    expect(paths('Shop\n====\nOpen.\n\nDelivery\n---\nBy bike.')).toEqual([
      ['Shop', 'Open.'],
      ['Shop', 'Delivery', 'By bike.'],
    ]);
    expect(paths('One.\n\n---\n\nTwo.')).toEqual([['One.\n\n---\n\nTwo.']]);
    expect(paths('- a\n---\nb')).toEqual([['- a\n---\nb']]);
    expect(paths('| a |\n---\nb')).toEqual([['| a |\n---\nb']]);
    expect(paths(`${'long '.repeat(60)}\n---\nb`)).toHaveLength(1);
  });

  it('finds no headings in a code fence, and leaves the text unchanged', () => {
    const markdown =
      '# How\n\n```sh\n# no heading\n\nnpm start\n```\n\n~~~\n```\n# neither\n~~~\n\n**Bold** and [a link](https://example.com).';
    expect(paths(markdown)).toEqual([['How', markdown.slice(7)]]);
    expect(paths('```\n# never closed')).toEqual([['```\n# never closed']]);
    expect(paths('    # indented code\n#none\n####### seven')).toEqual([['    # indented code\n#none\n####### seven']]);
  });

  it('accepts line ends of every kind, and a byte order mark', () => {
    expect(paths('\ufeff# A\r\nb\r\r\n# C\rd\u0000')).toEqual([
      ['A', 'b'],
      ['C', 'd'],
    ]);
  });

  it.each<[string, string[][]]>([
    ['---\ntitle: 配送\ntags:\n  - x\n# a\n---\n# A\nb\n\n---\n\nc', [['A', 'b\n\n---\n\nc']]],
    ['\ufeff---\r\n"başlık": a\r\n...\r\nb', [['b']]],
    ['+++\ntitle = "x"\n[a]\n+++\nb', [['b']]],
    ['---\n---\nb', [['b']]],
    ['---\ntitle: a\n\n# B\nc', [['---\ntitle: a'], ['B', 'c']]],
    ['+++\na', [['+++\na']]],
    ['---\n\nOpen daily.\n\n---\n\nb', [['---\n\nOpen daily.\n\n---\n\nb']]],
    ['a\n\n---\nb: c\n\n---', [['a\n\n---\nb: c\n\n---']]],
  ])('omits front matter, but keeps text between rules: %j', (markdown, pieces) => {
    expect(paths(markdown)).toEqual(pieces);
  });

  it('drops text of invisible characters alone, and keeps them within a text', () => {
    expect(paths('\u200b\ufeff\n\n# \u2060\n\u00ad\u3164')).toEqual([]);
    expect(splitText('\u200b\n\n\ufe0f')).toEqual([]);
    expect(splitCsv('\u200b,\u200b\n\u200d,')).toEqual([]);
    expect(paths('# A\u00adb\nc\u200bd ទៅ\u200bផ្ទះ')).toEqual([['A\u00adb', 'c\u200bd ទៅ\u200bផ្ទះ']]);
  });

  it('uses a heading without text as the text of its section, and returns nothing for an empty text', () => {
    expect(paths('# Closed on Mondays\n## Always')).toEqual([['Closed on Mondays', 'Always']]);
    expect(paths('# A\n## B\n## C\ntext\n# D')).toEqual([['A', 'B'], ['A', 'C', 'text'], ['D']]);
    expect(paths(' \n\n#\n##  ##\n')).toEqual([]);
  });

  it('cuts a long section at paragraphs, then sentences, then words, and never within a character', () => {
    const paragraph = 'Every order is packed by hand. '.repeat(20).trim();
    const pieces = splitMarkdown(`# A\n\n${[paragraph, paragraph, paragraph].join('\n\n')}`);
    expect(pieces.map(({ text }) => text)).toEqual([paragraph, paragraph, paragraph]);
    const sentences = cutText('One two three. Four five six seven. Eight', 24);
    expect(sentences).toEqual(['One two three.', 'Four five six seven.', 'Eight']);
    expect(cutText('alpha beta gamma delta', 12)).toEqual(['alpha beta', 'gamma delta']);
    expect(cutText('これは文です。次の文です。', 8)).toEqual(['これは文です。', '次の文です。']);
    expect(cutText('😀'.repeat(5), 3).every((part) => !/[\ud800-\udbff]$/.test(part))).toBe(true);
  });

  it('loses nothing and keeps the limit for any input', () => {
    const shape = fc.constantFrom(
      'WORD',
      '# WORD',
      '### WORD ##',
      '- WORD',
      'WORD\n===',
      '```\nWORD\n```',
      '```',
      '',
      '---',
      `WORD. ${'x y. '.repeat(600)}`,
    );
    const noise = fc.string({ maxLength: 20 }).map((text) => text.replaceAll('word', ''));
    fc.assert(
      fc.property(fc.array(fc.tuple(shape, noise), { maxLength: 12 }), (lines) => {
        const markdown = lines.map(([line, text], index) => `${line.replace('WORD', `word${index}word`)}\n${text}`);
        const pieces = splitMarkdown(markdown.join('\n'));
        expect(pieces.every(({ text }) => text.length > 0 && text.length <= maxPieceLength)).toBe(true);
        const kept = JSON.stringify(pieces);
        for (const [index, [line]] of lines.entries()) {
          if (line.includes('WORD')) expect(kept).toContain(`word${index}word`);
        }
      }),
    );
  });

  it.each(['# ', '#', ' #', '`', 'a\n=\n\n'])('takes linear time for any number of %j', (hostile) => {
    // In quadratic time, 1 MB would take minutes.
    splitMarkdown(`# ${hostile.repeat(1_000_000 / hostile.length)}`.slice(0, 1_000_000));
  });

  it('refuses more text than the limits', () => {
    expect(() => splitText('word '.repeat(500_000))).toThrow(
      new Unreadable('It has too much text; the limit is 2 MiB'),
    );
    const many = Array.from({ length: 2_001 }, (_, index) => `# ${index}\n${'x'.repeat(700)}`).join('\n');
    expect(() => splitMarkdown(many)).toThrow('2000 passages');
    const deep = Array.from({ length: 5 }, (_, level) => `${'#'.repeat(level + 1)} ${'h'.repeat(200)}\n`).join('');
    const under = Array.from({ length: 1_300 }, (_, index) => `###### ${index}\n${'x'.repeat(700)}`).join('\n');
    expect(splitMarkdown(under)).toHaveLength(1_300);
    expect(() => splitMarkdown(deep + under)).toThrow('2 MiB');
  });

  it('merges short sections if there are too many, each with its headings above it', () => {
    const few = Array.from({ length: 2_000 }, (_, index) => `# ${index}\ntext`).join('\n');
    expect(paths(few)[1_999]).toEqual(['1999', 'text']);
    const sections = Array.from({ length: 5_000 }, (_, index) => `# A\nb\n## ${index}\nc\n`);
    const pieces = splitMarkdown(`${sections.join('')}# Z\nz`);
    expect(pieces.length).toBeLessThanOrEqual(2_000);
    expect(pieces[0]!.heading_path).toEqual(['A']);
    expect(pieces[0]!.text).toMatch(/^b\n\n0\nc\n\nb\n\n1\nc\n/);
    expect(pieces.at(-1)).toEqual({ heading_path: ['Z'], text: 'z' });
    const all = new Set(pieces.flatMap(({ heading_path, text }) => [...heading_path, ...text.split('\n')]));
    for (let index = 0; index < 5_000; index++) expect(all.has(`${index}`)).toBe(true);
  });

  it('returns well-formed text without control characters for any input', () => {
    const surrogates = ['\ud83d', '\ude00'];
    const controls = ['\0', '\u0001', '\u009f', '\n', '\r', '\ufeff'];
    const unit = fc.constantFrom(...surrogates, ...controls, 'a', ' ', '# ', '## ', '"', ',');
    const text = fc.array(unit, { maxLength: 3_000, size: 'max' }).map((units) => units.join(''));
    fc.assert(
      fc.property(text, (hostile) => {
        for (const split of [splitMarkdown, splitText, splitCsv]) {
          for (const { heading_path, text } of split(hostile)) {
            expect(
              [...heading_path, text].every((part) => part.isWellFormed() && !/\p{Cc}/u.test(part.replace(/\s/g, ''))),
            ).toBe(true);
            expect(text.length).toBeLessThanOrEqual(maxPieceLength);
            expect(heading_path.every((heading) => heading.length <= 200)).toBe(true);
          }
        }
      }),
    );
  });
});

describe('splitCsv', () => {
  const texts = (csv: string) => splitCsv(csv).map(({ text }) => text);

  it('labels each cell with the name of its column', () => {
    const csv = '\ufeffProduct,Price,Note\r\nTea,4.50,"green, ""fresh"""\r\nCoffee,,"two\nlines"\r\n\r\n';
    expect(texts(csv)).toEqual([
      'Product: Tea\nPrice: 4.50\nNote: green, "fresh"\n\nProduct: Coffee\nNote: two\nlines',
    ]);
  });

  it('accepts semicolons and tabs, rows longer than the first, and a first row alone', () => {
    expect(texts('a;b\n1;2,5;3')).toEqual(['a: 1\nb: 2,5\ncolumn 3: 3']);
    expect(texts('a\tb\n1\t2')).toEqual(['a: 1\nb: 2']);
    expect(texts('Open daily, closed on Mondays')).toEqual(['Open daily, closed on Mondays']);
    expect(texts(',\n,')).toEqual([]);
  });

  it.each<[string, string[]]>([
    ['sep=;\r\nTên;Giá\r\nTrà;4,50\r\n', ['Tên: Trà\nGiá: 4,50']],
    ['"sep=|"\na|b;c;d\n1|2', ['a: 1\nb;c;d: 2']],
    [
      'Name;Preis\r\nTee, grün;4,50\r\nKaffee, schwarz;3,20',
      ['Name: Tee, grün\nPreis: 4,50\n\nName: Kaffee, schwarz\nPreis: 3,20'],
    ],
    ['"質問, または; 問い"\t"答え"\n"a,b;c\nd"\te', ['質問, または; 問い: a,b;c\nd\n答え: e']],
    ['"a;b;c",d\n"x;y;z",1', ['a;b;c: x;y;z\nd: 1']],
    [
      'Soru,Cevap\nGünler?,Pzt; Sal; Çar\nÜcret?,5; 6; 7',
      ['Soru: Günler?\nCevap: Pzt; Sal; Çar\n\nSoru: Ücret?\nCevap: 5; 6; 7'],
    ],
    ['a|b\n"1,5"|"2,5"', ['a: 1,5\nb: 2,5']],
    ['one\ntwo, three', ['one: two\ncolumn 2: three']],
  ])('detects the separator from unquoted text, equal rows, or a line that names it: %j', (csv, rows) => {
    expect(texts(csv)).toEqual(rows);
  });

  it('groups rows up to the limit, and accepts a quote that is never closed', () => {
    const rows = Array.from({ length: 100 }, (_, index) => `${index},${'x'.repeat(90)}`);
    const pieces = texts(`id,text\n${rows.join('\n')}`);
    expect(pieces.every((text) => text.length <= maxPieceLength)).toBe(true);
    expect(pieces.length).toBeLessThan(12);
    expect(texts('a,b\n1,"never ends\n2,3')).toEqual(['a: 1\nb: never ends\n2,3']);
  });
});
