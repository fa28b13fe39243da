import { describe, expect, it } from '@jest/globals';
import { faultsOf, patternsOfDocument } from './check-patterns.ts';
import { patternsOf } from './patterns.ts';

const file = 'services/x/src/a.ts';
const sources = (text: string) => patternsOf(file, text).patterns.map(({ source, flags }) => `/${source}/${flags}`);

it('names file, line, pattern, complexity and an attack of a planted pattern, and no other one', async () => {
  const { patterns } = patternsOf(file, `const a = /^a+$/;\nconst b: RegExp = /^(a+)+$/i;\nexport const c = [a, b];\n`);
  const faults = await faultsOf(patterns);
  expect(faults).toHaveLength(1);
  expect(faults[0]).toContain(`${file}:2: /^(a+)+$/i takes exponential time, such as on `);
  expect(faults[0]).toMatch(/repeat\(\d+\)/);
});

it('takes a square of the length for a fault, and names every place of the same pattern', async () => {
  const { patterns } = patternsOf(file, 'x.replace(/\\s+$/, "");\ny.replace(/\\s+$/, "");\n');
  expect(await faultsOf(patterns)).toEqual([
    expect.stringContaining(`${file}:1: /\\s+$/ takes 2nd degree polynomial time`),
    expect.stringContaining(`${file}:2: /\\s+$/ takes 2nd degree polynomial time`),
  ]);
});

it('takes what cannot be judged for a fault', async () => {
  const unjudged = { file, line: 7, source: '(', flags: '' };
  expect(await faultsOf([unjudged])).toEqual([`${file}:7: /(/ could not be judged: invalid`]);
});

describe('patterns are found', () => {
  it.each([
    [
      'in types, classes and templates',
      `class A<T> { #p: RegExp = /a/g; m() { return \`\${/b/.test("x")}\`; } }`,
      '/a/g /b/',
    ],
    ['behind a division', 'const a = 4 / 2; const b = a / /c/.exec("x")!.index;', '/c/'],
    ['that zod is given', "z.string().regex(/^d$/, { error: 'no' });", '/^d$/'],
    ['made of constants', `const a = 'x+'; new globalThis.RegExp(\`^\${a}$\`, 'u');`, '/^x+$/u'],
    ['written raw', 'const a = String.raw`\\d+`; new RegExp(a);', '/\\d+/'],
    ['around what is escaped', `new RegExp(\`^\${RegExp.escape(name)}$\`, 'i');`, '/^escaped$/i'],
  ])('%s', (_where, text, expected) => {
    expect(patternsOf(file, text).faults).toEqual([]);
    expect(sources(text).join(' ')).toBe(expected);
  });

  it("among a document's schemas", () => {
    const document = { a: { pattern: '^"\\d"$' }, pattern: { type: 'string' } };
    expect(patternsOfDocument('d.json', document)).toEqual([
      { file: 'd.json', line: 3, source: '^"\\d"$', flags: 'u' },
    ]);
  });
});

it.each([
  ['text of elsewhere', 'new RegExp(given);'],
  ['a variable', "let a = 'x'; a = given; new RegExp(a);"],
  ['a parameter of the name of a constant', "const a = 'x'; const f = (a: string) => new RegExp(a);"],
  ['a parameter with a default', "const a = 'x'; function f(a = given) { return new RegExp(a); }"],
  ['a name that is taken apart', "const a = 'x'; { const { a } = given; new RegExp(a); }"],
  ['what is escaped by something else', 'RegExp(escape(given));'],
  ['flags of elsewhere', "new RegExp('x', given);"],
])('a RegExp made of %s is a fault', (_what, text) => {
  expect(patternsOf(file, `\n${text}`).faults).toEqual([
    `${file}:2: RegExp of text that is neither constant nor escaped by RegExp.escape`,
  ]);
});
