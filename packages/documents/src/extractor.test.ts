import { randomBytes } from 'node:crypto';
import { waitFor } from '@customer-platform/testkit';
import { docxOf, pdfOf, zipOf } from '@customer-platform/testkit/documents';
import { afterAll, afterEach, describe, expect, it, jest } from '@jest/globals';
import { Extractor, type ExtractorOptions, LimitExceeded, NotStarted } from './extractor.ts';
import { maxPieces, Unreadable } from './pieces.ts';
import { residentByPs } from './reading-process.ts';

const extractors: Extractor[] = [];
const mebibyte = 1_048_576;

afterEach(async () => {
  for (const one of extractors.splice(0)) one.close();
});

function extractor(options: ExtractorOptions = {}): Extractor {
  const made = new Extractor(options);
  extractors.push(made);
  return made;
}

type DocumentType = Parameters<Extractor['read']>[0]['type'];
const shared = new Extractor();
const read = (type: DocumentType, content: string | Buffer) =>
  shared.read({ type }, () => [Buffer.from(content as string)]);
afterAll(() => shared.close());

describe('the text of a document', () => {
  it('of a web page is its main text by its headings, without menus and scripts', async () => {
    const filler = 'We deliver every day, also on Sundays, and by bike wherever it is possible. '.repeat(5);
    const html = `<!doctype html><html><head><title>Shop – Delivery</title><style>p{}</style></head><body>
      <nav><a href="/">Home</a></nav><main><h1>Delivery &amp; returns</h1><p>${filler}</p><h2>Costs</h2>
      <p>Free above <b>50&nbsp;€</b>.<br>Else 5 €.</p><h3>Abroad</h3><ul><li>Austria: 9 €</li><li>France: 12 €</li></ul>
      <table><tr><th>Size</th><th>Price</th></tr><tr><td><p>S</p></td><td>3 €</td></tr></table></main>
      <script>track('secret')</script></body></html>`;
    expect(await read('html', html)).toEqual([
      { heading_path: ['Delivery & returns'], text: filler.trim() },
      { heading_path: ['Delivery & returns', 'Costs'], text: 'Free above 50 €.\nElse 5 €.' },
      {
        heading_path: ['Delivery & returns', 'Costs', 'Abroad'],
        text: '- Austria: 9 €\n- France: 12 €\n\nSize | Price\nS | 3 €',
      },
    ]);
  });

  it('of a page with few words is decoded by its declared encoding', async () => {
    const short = Buffer.from('<meta charset="iso-8859-1"><title>Café</title><p>Geöffnet täglich</p>', 'latin1');
    expect(await read('html', short)).toEqual([{ heading_path: ['Café'], text: 'Geöffnet täglich' }]);
    expect(await read('html', '<title>App</title><div id="root"></div><script>app()</script>')).toEqual([]);
    expect(await read('html', 'Just text')).toEqual([{ heading_path: [], text: 'Just text' }]);
  });

  it('of a Word document is its headings and paragraphs', async () => {
    const docx = docxOf([
      { text: 'Terms', level: 1 },
      { text: 'All prices with VAT.' },
      { text: 'Returns', level: 2 },
      { text: 'In 30 days.' },
    ]);
    expect(await read('docx', docx)).toEqual([
      { heading_path: ['Terms'], text: 'All prices with VAT.' },
      { heading_path: ['Terms', 'Returns'], text: 'In 30 days.' },
    ]);
  });

  it('of a PDF is its pages', async () => {
    expect(await read('pdf', pdfOf(['Open daily.', 'Closed in May.']))).toEqual([
      { heading_path: ['Page 1'], text: 'Open daily.' },
      { heading_path: ['Page 2'], text: 'Closed in May.' },
    ]);
  });

  it('of Markdown, a table and plain text is their content', async () => {
    expect(await read('md', '# A\nb')).toEqual([{ heading_path: ['A'], text: 'b' }]);
    expect(await read('csv', 'a,b\n1,2')).toEqual([{ heading_path: [], text: 'a: 1\nb: 2' }]);
    expect(await read('txt', '# no heading\n\nb')).toEqual([{ heading_path: [], text: '# no heading\n\nb' }]);
  });
});

/** Reads a document in a process that reports ready and then runs this code. */
function replyOf(code: string) {
  const program = `
    import { writeSync } from 'node:fs';
    import { serve } from ${JSON.stringify(new URL('./extract-child.ts', import.meta.url))};
    await serve(async () => { ${code} });`;
  const one = extractor({ timeoutMs: 60_000, program: ['--input-type=module', '--eval', program] });
  return one.read({ type: 'txt' }, () => [Buffer.from('a')]);
}

describe('an unreadable or hostile document', () => {
  it.each<[string, DocumentType, () => string | Buffer, string]>([
    ['text that is not a PDF', 'pdf', () => '%PDF-1.4 nonsense', 'not a readable PDF'],
    ['a PDF that was cut off', 'pdf', () => pdfOf(['Open daily.']).subarray(0, 150), 'not a readable PDF'],
    ['a PDF of 10,000 pages', 'pdf', () => pdfOf(Array<string>(10_000).fill('x')), 'more than 2,000 pages'],
    ['bytes that are not a Word document', 'docx', () => randomBytes(5_000), 'not a readable Word document'],
    [
      'a Word document that was cut off',
      'docx',
      () => docxOf([{ text: 'a' }]).subarray(0, 600),
      'not a readable Word document',
    ],
    [
      'an archive without a document',
      'docx',
      () => zipOf({ 'a.txt': { content: 'a' } }),
      'not a readable Word document',
    ],
    ['a document of invalid XML', 'docx', () => docxOf([{ text: '<w:p></w:r>' }]), 'not a readable Word document'],
    ['an archive that states a huge size', 'docx', () => docxOf([{ text: 'a' }], 70 * mebibyte), 'too large'],
    [
      'an archive that states a false size',
      'docx',
      () => docxOf([{ text: 'a'.repeat(30 * mebibyte) }], 1_000),
      'too large',
    ],
    [
      'an archive of more than 5,000 files',
      'docx',
      () =>
        zipOf(Object.fromEntries(Array.from({ length: 5_001 }, (_, index) => [`word/${index}.xml`, { content: '' }]))),
      'too large',
    ],
    ['very deeply nested quotes', 'md', () => '>'.repeat(4 * mebibyte), 'too much text'],
    ['more text than the limit', 'txt', () => 'word '.repeat(mebibyte), 'too much text'],
    ['more rows than the limit', 'csv', () => `a\n${`${'x'.repeat(1_000)}\n`.repeat(2_500)}`, 'too much text'],
  ])('is refused with a reason: %s', async (_, type, content, reason) => {
    await expect(read(type, content())).rejects.toThrow(reason);
  });

  it('of 100,000 headings is read, with short sections merged', async () => {
    const pieces = await read('md', Array.from({ length: 100_000 }, (_, index) => `# ${index}\n😀\n`).join(''));
    expect(pieces.length).toBeLessThanOrEqual(2_000);
    const { heading_path, text } = pieces.at(-1)!;
    expect([...heading_path, text].join('\n')).toMatch(/99999\n😀$/);
    expect(pieces.every(({ text }) => text.isWellFormed())).toBe(true);
  });

  it('with a table row of 50,000 cells is read', async () => {
    const pieces = await read('html', `<h1>Sizes</h1><table><tr>${'<td>9</td>'.repeat(50_000)}</tr></table>`);
    const text = pieces.map((piece) => piece.text).join('');
    expect(text.split('9')).toHaveLength(50_001);
  });

  it('that exceeds the memory limit ends the process, and a new process reads the next one', async () => {
    const one = extractor({ maxResidentBytes: 150 * mebibyte });
    const bomb = docxOf([{ text: 'a</w:t></w:r></w:p><w:p><w:r><w:t>'.repeat(mebibyte) }]);
    await expect(one.read({ type: 'docx' }, () => [bomb])).rejects.toThrow('too much memory');
    expect(one.pid).toBeUndefined();
    expect(await one.read({ type: 'txt' }, () => [Buffer.from('a')])).toEqual([{ heading_path: [], text: 'a' }]);
  });

  it('that takes too long fails alone', async () => {
    // Long enough for the second document on a busy machine. The first document never finishes.
    const one = extractor({ timeoutMs: 5_000 });
    const deep = Buffer.from('<div>'.repeat(800_000));
    await expect(one.read({ type: 'html' }, () => [deep])).rejects.toThrow(/too long|too much memory/);
    expect(await one.read({ type: 'txt' }, () => [Buffer.from('b')])).toEqual([{ heading_path: [], text: 'b' }]);
  });

  it('whose process is killed is read a second time, and then counts as the cause', async () => {
    const one = extractor();
    const killed: number[] = [];
    /** Returns a document that kills the process that reads it, until `killed` has `times` entries. */
    const deadly = (times: number) =>
      async function* () {
        yield Buffer.from('a');
        if (killed.length < times) {
          killed.push(one.pid!);
          process.kill(one.pid!, 'SIGKILL');
          await waitFor('its end', () => one.pid === undefined);
        }
      };
    expect(await one.read({ type: 'txt' }, deadly(1))).toEqual([{ heading_path: [], text: 'a' }]);
    expect(killed).not.toContain(one.pid);

    const error = await one.read({ type: 'txt' }, deadly(3)).catch((cause: Error) => cause);
    expect(new Set(killed).size).toBe(3);
    expect(error).toBeInstanceOf(LimitExceeded);
    expect(error).toMatchObject({ message: 'Reading it takes too much memory, or it is damaged' });
    // Tests the path for systems without /proc, such as macOS.
    expect([residentByPs(process.pid) > mebibyte, residentByPs(killed[0])]).toEqual([true, 0]);
    expect(await one.read({ type: 'txt' }, () => [Buffer.from('b')])).toEqual([{ heading_path: [], text: 'b' }]);
  });

  it('whose process is killed is read again only within the remaining time', async () => {
    const one = extractor();
    const now = performance.now.bind(performance);
    const [clock, killed] = [jest.spyOn(performance, 'now'), [] as number[]];
    const slowlyDeadly = async function* () {
      yield Buffer.from('a');
      if (killed.length === 0) {
        clock.mockImplementation(() => now() + 30_000);
        killed.push(one.pid!);
        process.kill(one.pid!, 'SIGKILL');
      }
      await waitFor('its end', () => one.pid === undefined);
    };
    try {
      await expect(one.read({ type: 'txt' }, slowlyDeadly)).rejects.toThrow('Reading it took too long');
    } finally {
      clock.mockRestore();
    }
  });

  it('is not charged for the time that a process takes to start', async () => {
    const startsLate = `
      const until = performance.now() + 4_000;
      while (performance.now() < until);
      await import(${JSON.stringify(new URL('./extract-child.ts', import.meta.url))}).then(({ serve }) => {
        return serve(async () => [{ heading_path: [], text: 'read' }]);
      });`;
    const one = extractor({ timeoutMs: 3_000, program: ['--input-type=module', '--eval', startsLate] });
    expect(await one.read({ type: 'txt' }, () => [Buffer.from('a')])).toEqual([{ heading_path: [], text: 'read' }]);
  });

  it('is not blamed if the process does not start or ends before it is ready', async () => {
    for (const never of ['setInterval(() => 0, 1_000)', 'process.exit(1)']) {
      const one = extractor({ startMs: 500, program: ['--input-type=module', '--eval', never] });
      let asked = 0;
      const document = () => [Buffer.from(`${++asked}`)];
      const error = await one.read({ type: 'txt' }, document).catch((cause: Error) => cause);
      expect(error).toBeInstanceOf(NotStarted);
      expect(error).not.toBeInstanceOf(Unreadable);
      expect([asked, one.pid]).toEqual([0, undefined]);
    }
  });

  it.each([
    ['invalid JSON', 'abc'],
    ['values of the wrong type', '{"value":[1]}'],
    ['a text that is not a string', '{"value":[{"heading_path":[],"text":7}]}'],
    ['very many invalid pieces', `{"value":[${'0,'.repeat(maxPieces)}0]}`],
    ['a heading that is not a string', '{"value":[{"heading_path":["Tea",7],"text":"Tea"}]}'],
    ['null', 'null'],
    ['a very long reason', JSON.stringify({ error: 'x'.repeat(10_000) })],
    ['a million lists', undefined],
  ])('is rejected if a hijacked process replies with %s', async (_, said) => {
    const program = `
      import { readSync, writeSync } from 'node:fs';
      const say = (text) => {
        const length = Buffer.alloc(4);
        length.writeUInt32BE(text.length);
        writeSync(1, Buffer.concat([length, Buffer.from(text)]));
      };
      readSync(0, Buffer.alloc(1_000));
      say('{"ready":true}');
      readSync(0, Buffer.alloc(1_000));
      say(${said === undefined ? "'[' + '[],'.repeat(1_000_000) + '[]]'" : JSON.stringify(said)});
      setInterval(() => 0, 1_000);`;
    const one = extractor({ program: ['--input-type=module', '--eval', program] });
    const error = await one.read({ type: 'txt' }, () => [Buffer.from('a')]).catch((cause: Error) => cause);
    expect(error).toBeInstanceOf(Unreadable);
    expect((error as Error).message).toMatch(/damaged/);
    if (said === undefined) expect(one.pid).toBeUndefined();
  });

  it('is not sent to a process that replies with more than the maximum before it is ready', async () => {
    const program = `
      import { readSync, writeSync } from 'node:fs';
      readSync(0, Buffer.alloc(1_000));
      for (;;) writeSync(1, Buffer.alloc(65_536, 0x7f));`;
    const one = extractor({ program: ['--input-type=module', '--eval', program] });
    await expect(one.read({ type: 'txt' }, () => [Buffer.from('a')])).rejects.toThrow(NotStarted);
    expect(one.pid).toBeUndefined();
  });

  it.each([
    ['more headings', `{ heading_path: Array(7).fill('a'), text: 'a' }`],
    ['a longer heading', `{ heading_path: ['a'.repeat(201)], text: 'a' }`],
    ['a longer text', `{ heading_path: [], text: 'a'.repeat(1_201) }`],
  ])('is rejected if the reply has %s than a document can have', async (_, piece) => {
    await expect(replyOf(`return [${piece}];`)).rejects.toThrow('damaged');
  });

  it('is ended long before the timeout if the process replies byte by byte without end', async () => {
    const endless = "writeSync(1, Buffer.from([0, 255, 255, 255])); for (;;) writeSync(1, Buffer.from('x'));";
    await expect(replyOf(endless)).rejects.toThrow('damaged');
  }, 100_000);

  it('of a large size is never held in memory as a whole, and its text is limited', async () => {
    const part = Buffer.alloc(mebibyte, 'word ');
    let handed = 0;
    const parts = async function* () {
      for (; handed < 20; handed++) yield part;
    };
    const before = process.memoryUsage.rss();
    await expect(extractor({ timeoutMs: 100_000 }).read({ type: 'txt' }, parts)).rejects.toThrow('2 MiB');
    expect(handed).toBe(20);
    expect(process.memoryUsage.rss() - before).toBeLessThan(60 * mebibyte);
  }, 240_000);

  it('is no longer read once the signal is aborted, which ends the process; an idle process ends by itself', async () => {
    const one = extractor();
    await one.read({ type: 'txt' }, () => [Buffer.from('a')]);
    const stop = new AbortController();
    const running = one.read({ type: 'pdf' }, () => [pdfOf(Array<string>(1_900).fill('x'))], stop.signal);
    stop.abort(new Error('enough'));
    await expect(running).rejects.toThrow('enough');
    expect(one.pid).toBeUndefined();
    await expect(one.read({ type: 'txt' }, () => [], stop.signal)).rejects.toThrow('enough');
    await one.read({ type: 'txt' }, () => [Buffer.from('a')]);
    await waitFor('the process to end', () => one.pid === undefined);
  });
});

describe('robots.txt', () => {
  const question = { robotsUrl: 'https://shop.example/robots.txt', agent: 'customer-platform-reader' };

  it('expensive rules block only the child process', async () => {
    const hostile = Buffer.from(`User-agent: *\nDisallow: /${'*a'.repeat(250_000)}b`);
    const url = `https://shop.example/${'a'.repeat(2_000)}`;
    const outcome = await extractor({ timeoutMs: 3_000 })
      .allows({ ...question, url }, hostile)
      .catch((error: Error) => error.message);
    expect([true, 'Reading it took too long']).toContain(outcome);
  });
});
