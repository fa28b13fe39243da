import { describe, expect, it } from '@jest/globals';
import { circleExceptionsOf, circleFaultsOf } from './house/circles.ts';
import { clockFaultsOf } from './house/clocks.ts';
import { longFunctionsOf, wideFunctionsOf } from './house/functions.ts';
import { spreadListsOf } from './house/lists.ts';
import { lowered, ratchetFaultsOf } from './house/ratchet.ts';
import { roomFaultsOf } from './house/rooms.ts';
import { sleepFaultsOf } from './house/sleeps.ts';
import { lengthFaultsOf, sourceOf } from './house/source.ts';
import { wordExceptionsOf, wordsOf, wordsOfDocument } from './house/words.ts';

const code = 'services/calendar/src/a.ts';
const test = 'services/calendar/src/a.test.ts';
const line = (specifier: string) => `import { x } from '${specifier}';\n`;

describe('imports between rooms', () => {
  it.each([
    [code, '@customer-platform/cdp'],
    [code, '@customer-platform/testkit'],
    [code, '../../cdp/src/start.ts'],
    [test, '@customer-platform/webhooks'],
    ['packages/service-kit/src/a.ts', '@customer-platform/contracts/calendar'],
    ['packages/contracts/src/a.ts', '@customer-platform/service-kit'],
    ['packages/client/src/a.ts', '@customer-platform/service-kit'],
    ['gateway/src/a.ts', '@customer-platform/calendar'],
    [code, 'ioredis'],
    ['examples/booking-page/a.ts', '@customer-platform/contracts'],
    ['examples/booking-page/a.ts', 'ioredis'],
  ])('%s may not import %s', (file, specifier) => {
    expect(roomFaultsOf(sourceOf(file, `\n${line(specifier)}`))).toEqual([expect.stringContaining(`${file}:2: `)]);
  });

  it.each([
    [code, '@customer-platform/contracts/cdp'],
    [code, '@customer-platform/service-kit'],
    [test, '@customer-platform/testkit'],
    ['services/calendar/src/free/a.ts', '../b.ts'],
    ['packages/service-kit/src/a.ts', '@customer-platform/contracts/core'],
    ['gateway/src/a.ts', 'ioredis'],
    [test, 'fast-check'],
    ['examples/booking-page/a.ts', '@customer-platform/client'],
    ['examples/booking-page/a.test.ts', '@customer-platform/testkit'],
  ])('%s may import %s', (file, specifier) => {
    expect(roomFaultsOf(sourceOf(file, line(specifier)))).toEqual([]);
  });

  it('are seen as types, re-exports, bare and dynamic imports', () => {
    const forms = [
      "import type { A } from '@customer-platform/cdp';",
      "export * from '@customer-platform/cdp';",
      "import '@customer-platform/cdp';",
      "const a = await import('@customer-platform/cdp');",
      "import {\n  a,\n  b,\n} from '@customer-platform/cdp';",
      "let a: import('@customer-platform/cdp').A;",
    ];
    for (const form of forms) expect(roomFaultsOf(sourceOf(code, `${form}\n`))).toHaveLength(1);
  });
});

describe('circles of imports', () => {
  const files = (imports: Record<string, string>) =>
    Object.entries(imports).map(([file, specifier]) => sourceOf(`services/x/src/${file}`, line(specifier)));
  const between = files({
    'a/one.ts': '../b/two.ts',
    'b/three.ts': '../c.ts',
    'c.ts': './a/four.ts',
    'a/five.ts': './one.ts',
  });

  it('of two files are found, one of them by its types only', () => {
    const sources = [
      sourceOf('gateway/src/a.ts', line('./b.ts')),
      sourceOf('gateway/src/b.ts', "import type { A } from './a.ts';"),
    ];
    expect(circleFaultsOf(sources, {})).toEqual([
      'gateway/src/a.ts:1: imports gateway/src/b.ts; gateway/src/b.ts:1 imports gateway/src/a.ts, ' +
        'which closes the circle a.ts -> b.ts -> a.ts in gateway/src; move what both need into a place of its own',
    ]);
  });

  it('of folders are found where their files have none', () => {
    expect(circleFaultsOf(between, {})).toEqual([expect.stringContaining('closes the circle a -> b -> c.ts -> a in')]);
  });

  it('are left out where an import of theirs is allowed, and tests never close one', () => {
    expect(circleFaultsOf(between, { 'services/x/src: c.ts -> a': 1 })).toEqual([]);
    expect(circleFaultsOf(files({ 'a/one.ts': '../b/two.ts', 'b/two.test.ts': '../a/one.ts' }), {})).toEqual([]);
  });

  it('count against what is allowed, as long as they would close one', () => {
    const allowed = { 'services/x/src: c.ts -> a': 1, 'services/x/src: a -> d': 1 };
    const sources = [...between, ...files({ 'a/six.ts': '../d/seven.ts' })];
    expect(circleExceptionsOf(sources, allowed)).toMatchObject([{ name: 'services/x/src: c.ts -> a', number: 1 }]);
  });
});

describe('functions', () => {
  const long = (lines: number) => `{${'\n'.repeat(lines - 1)}}`;

  it('of more than 70 lines, signature included, are found by their names', () => {
    const source = sourceOf(
      code,
      `function a() ${long(70)}\nfunction b() ${long(71)}\nconst c = { d: () => ${long(72)} };\n` +
        `class E { #f() ${long(73)} }\nit('does', () => ${long(74)});`,
    );
    expect(longFunctionsOf(source).map(({ name, number }) => [name, number])).toEqual([
      [`${code} b`, 71],
      [`${code} d`, 72],
      [`${code} E.#f`, 73],
      [`${code} callback of it 'does'`, 74],
    ]);
    expect(longFunctionsOf(source)[0]).toMatchObject({
      where: `${code}:71`,
      sentence: 'b has 71 lines; 70 are the most',
    });
  });

  it('do not include the describe of a test, but what is in it', () => {
    const text = `describe('a', () => {\nit('b', () => ${long(71)}) });\ndescribe.each([1])('c', () => ${long(80)});`;
    expect(longFunctionsOf(sourceOf(test, text)).map(({ number }) => number)).toEqual([71]);
  });

  it('of more than four positional parameters are found, two of one name apart', () => {
    const text =
      'const a = (b, c, d, e, f) => b;\n{ const a = (b, c, d, e, { f, g, h }) => b; }\n' +
      'function i(this: X, b, c, d, e) {}\nfunction j({ b, c, d, e, f }) {}';
    expect(wideFunctionsOf(sourceOf(code, text)).map(({ name, number }) => [name, number])).toEqual([
      [`${code} a`, 5],
      [`${code} a #2`, 5],
    ]);
  });
});

describe('the clock', () => {
  it.each(['Date.now()', 'new Date()', 'new Date', 'Date()'])('is not read by %s in code of the domain', (reading) => {
    const read = (file: string, allowed = {}) => clockFaultsOf([sourceOf(file, `\nconst a = ${reading};`)], allowed);
    expect(read(code)).toEqual([expect.stringContaining(`${code}:2: reads the system's clock`)]);
    expect(read('gateway/src/rate/a.ts')).toHaveLength(1);
    expect(read(code, { [code]: 'a reason' })).toEqual([]);
    for (const file of [test, 'gateway/src/main.ts', 'services/crm/src/start.ts', 'bench/a.ts'])
      expect(read(file)).toEqual([]);
  });

  it('is read where a given time is, and what is allowed must read it', () => {
    expect(clockFaultsOf([sourceOf(code, 'new Date(now); now.now(); Date.parse(a);')], {})).toEqual([]);
    expect(clockFaultsOf([sourceOf(code, '')], { [code]: 'a reason' })).toEqual([expect.stringContaining('remove it')]);
  });
});

describe('pauses of tests', () => {
  it.each([
    'await new Promise((resolve) => setTimeout(resolve, 50));',
    'await new Promise<void>((done) => { setTimeout(() => { n++; done(); }, 50); });',
    'const { promise, resolve } = Promise.withResolvers(); setTimeout(() => resolve(), 50);',
    "import { setTimeout as wait } from 'node:timers/promises';",
    "import { scheduler } from 'timers/promises';",
    'await sleep(50);',
  ])('are found: %s', (text) => {
    expect(sleepFaultsOf([sourceOf(test, `\n${text}`)], {})).toEqual([expect.stringContaining(`${test}:2: pauses`)]);
    expect(sleepFaultsOf([sourceOf(test, text)], { [test]: 'a reason' })).toEqual([]);
    expect(sleepFaultsOf([sourceOf(code, text)], {})).toEqual([]);
  });

  it.each([
    'await new Promise((_, reject) => setTimeout(() => reject(new Error()), 5_000));',
    'serve((_, response) => setTimeout(() => response.end(), 50));',
    'socket.pause();',
    "import { setImmediate } from 'node:timers/promises';",
  ])('are none: %s', (text) => {
    expect(sleepFaultsOf([sourceOf(test, text)], {})).toEqual([]);
  });

  it('that are allowed must be there', () => {
    expect(sleepFaultsOf([sourceOf(test, '')], { [test]: 'a reason' })).toEqual([expect.stringContaining('remove it')]);
  });
});

it('finds literals that are spread into others, and no spread of anything else', () => {
  const text =
    'f([...[a, b],\n...[c]], { ...{ d, e } }, ...([g] as const));\nf([...h, ...[1].map(i), ...(j ? [k] : [])]);';
  expect(spreadListsOf(sourceOf(code, text))).toMatchObject([{ name: code, number: 4, where: `${code}:1` }]);
  expect(spreadListsOf(sourceOf(code, '[...a]'))).toEqual([]);
});

describe('words that we do not use', () => {
  const words = (file: string, text: string) =>
    wordsOf(sourceOf(file, text)).map(({ line, word }) => `${line} ${word.word}`);

  it('are found in names, each once in a file, in comments and in messages', () => {
    const text = `let lastAnswer;\nf(lastAnswer, 'ask anew');\n// NATS\n/* no\n   answer */\n/** Whether it is. */`;
    expect(words(code, text).sort()).toEqual(['1 answer', '2 anew', '5 answer', '6 What, Who, How, Whether first']);
  });

  it('are found in the names of files, and some in some files only', () => {
    expect(words('services/crm/src/deals/answer-find-places.ts', 'const isTaken = 1;')).toEqual([
      '1 answer',
      '1 place',
      '1 taken key',
    ]);
    expect(words('services/cdp/src/a.ts', 'const isTaken = places;')).toEqual([]);
  });

  it.each([
    'function answerIt() {}',
    'class Answer {}',
    'class A { #answer = 1; }',
    'interface Answer {}',
    'interface A { answer: string }',
    'type Answer = string;',
    'const f = (answer = 1) => 1;',
    'type F = (answer: string) => void;',
    'const [answer] = f();',
    'const { a: answer, ...rest } = f();',
  ])('are found where a name is given: %s', (text) => {
    expect(words(code, text)).toEqual(['1 answer']);
  });

  it.each(["import { answer } from './b.ts';", 'answer(1); a.answer; ({ answer: 1 });', 'const { answer } = a;'])(
    'are not found where a name is used: %s',
    (text) => {
      expect(words(code, text)).toEqual([]);
    },
  );

  it('leave out the texts of tests, and what the API itself calls so', () => {
    expect(words(test, "it('answers anew');")).toEqual([]);
    expect(words(code, '/** The FAQ answer. */ function f(answer_exactly) {}')).toEqual([]);
  });

  it('are found in documents outside of code', () => {
    const text = 'It is away.\n`is away`\n```\nis away\n```\nAn answer.';
    expect(wordsOfDocument('docs/a.md', text).map(({ line }) => line)).toEqual([1, 6]);
  });

  it('are told with their lines and what is written instead', () => {
    expect(wordExceptionsOf(wordsOf(sourceOf(code, '\n// anew')))).toEqual([
      {
        name: code,
        number: 1,
        where: `${code}:2`,
        sentence: 'has 1 words that we do not use (line 2 anew); write instead anew: again',
      },
    ]);
  });
});

describe('a list of exceptions', () => {
  const of = (name: string, number: number) => ({ name, number, where: `${name}:1`, sentence: 'is too much' });

  it('lets nothing grow and nothing come new, and says what has become less', () => {
    expect(ratchetFaultsOf('lines', [of('a.ts', 80)], { 'a.ts': 80 })).toEqual([]);
    expect(ratchetFaultsOf('lines', [of('a.ts', 81), of('b.ts', 71)], { 'a.ts': 80 })).toEqual([
      'a.ts:1: is too much (allowed until mended: 80)',
      'b.ts:1: is too much',
    ]);
    expect(ratchetFaultsOf('lines', [of('a.ts', 79)], { 'a.ts': 80, 'b.ts': 71 })).toEqual([
      'scripts/house/allowed.json: lines allows a.ts 80, it has 79; run npm run house -- --lower',
      'scripts/house/allowed.json: lines allows b.ts 71, it has 0; run npm run house -- --lower',
    ]);
  });

  it('is lowered and never raised, and follows a renamed file', () => {
    const now = [of('a.ts', 81), of('new.ts', 75), of('new.ts f', 90), of('never.ts', 99)];
    const allowed = { 'a.ts': 80, 'old.ts': 77, 'old.ts f': 95, 'gone.ts': 90 };
    const renames = new Map([['old.ts', 'new.ts']]);
    expect(lowered(now, allowed, renames)).toEqual({ 'a.ts': 80, 'new.ts': 75, 'new.ts f': 90 });
  });
});

it('refuses a file that grew too long', () => {
  expect(lengthFaultsOf(sourceOf(code, 'x\n'.repeat(300)))).toEqual([]);
  expect(lengthFaultsOf(sourceOf(code, 'x\n'.repeat(301)))).toHaveLength(1);
  expect(lengthFaultsOf(sourceOf(test, 'x\n'.repeat(500)))).toEqual([]);
});
