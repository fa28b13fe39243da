import { describe, expect, it } from '@jest/globals';
import { faultsOf, patternsOfDocument } from './check-patterns.ts';
import { patternsOf } from './patterns.ts';

const file = 'services/x/src/a.ts';
const sources = (text: string) => patternsOf(file, text).patterns.map(({ source, flags }) => `/${source}/${flags}`);

it('names file, line, pattern, complexity and an attack of an unsafe pattern, and no other pattern', async () => {
  const { patterns } = patternsOf(file, `const a = /^a+$/;\nconst b: RegExp = /^(a+)+$/i;\nexport const c = [a, b];\n`);
  const faults = await faultsOf(patterns);
  expect(faults).toHaveLength(1);
  expect(faults[0]).toContain(`${file}:2: /^(a+)+$/i takes exponential time, such as on `);
  expect(faults[0]).toMatch(/repeat\(\d+\)/);
});

it('reports quadratic time, and every place of the same pattern', async () => {
  const { patterns } = patternsOf(file, 'x.replace(/\\s+$/, "");\ny.replace(/\\s+$/, "");\n');
  expect(await faultsOf(patterns)).toEqual([
    expect.stringContaining(`${file}:1: /\\s+$/ takes 2nd degree polynomial time`),
    expect.stringContaining(`${file}:2: /\\s+$/ takes 2nd degree polynomial time`),
  ]);
});

it('reports a pattern that cannot be checked', async () => {
  const unjudged = { file, line: 7, source: '(', flags: '' };
  expect(await faultsOf([unjudged])).toEqual([`${file}:7: /(/ could not be checked: invalid`]);
});

describe('patterns are found', () => {
  it.each([
    [
      'in types, classes and templates',
      `class A<T> { #p: RegExp = /a/g; m() { return \`\${/b/.test("x")}\`; } }`,
      '/a/g /b/',
    ],
    ['behind a division', 'const a = 4 / 2; const b = a / /c/.exec("x")!.index;', '/c/'],
    ['given to zod', "z.string().regex(/^d$/, { error: 'no' });", '/^d$/'],
    ['made of constants', `const a = 'x+'; new globalThis.RegExp(\`^\${a}$\`, 'u');`, '/^x+$/u'],
    ['written raw', 'const a = String.raw`\\d+`; new RegExp(a);', '/\\d+/'],
    ['around escaped text', `new RegExp(\`^\${RegExp.escape(name)}$\`, 'i');`, '/^escaped$/i'],
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
  ['text from elsewhere', 'new RegExp(given);'],
  ['a variable', "let a = 'x'; a = given; new RegExp(a);"],
  ['a parameter with the name of a constant', "const a = 'x'; const f = (a: string) => new RegExp(a);"],
  ['a parameter with a default', "const a = 'x'; function f(a = given) { return new RegExp(a); }"],
  ['a destructured name', "const a = 'x'; { const { a } = given; new RegExp(a); }"],
  ['text that something else escapes', 'RegExp(escape(given));'],
  ['flags from elsewhere', "new RegExp('x', given);"],
])('a RegExp made of %s is a fault', (_what, text) => {
  expect(patternsOf(file, `\n${text}`).faults).toEqual([
    `${file}:2: the source of a RegExp must be constant or escaped by RegExp.escape`,
  ]);
});
