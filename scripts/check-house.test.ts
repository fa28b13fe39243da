import { describe, expect, it } from '@jest/globals';
import { circleFaultsOf } from './house/circles.ts';
import { folderFaultsOf, smallFileFaultsOf } from './house/folders.ts';
import { roomFaultsOf, rooms } from './house/rooms.ts';
import { sleepFaultsOf } from './house/sleeps.ts';
import { sourceOf } from './house/source.ts';

const code = 'services/calendar/src/a.ts';
const test = 'services/calendar/src/a.test.ts';
const line = (specifier: string) => `import { x } from '${specifier}';\n`;
const roomFaults = (file: string, text: string) => {
  const room = Object.keys(rooms).find((folder) => file.startsWith(`${folder}/`))!;
  return roomFaultsOf(room, sourceOf(file, text));
};

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
    expect(roomFaults(file, `\n${line(specifier)}`)).toEqual([expect.stringContaining(`${file}:2: `)]);
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
    expect(roomFaults(file, line(specifier))).toEqual([]);
  });

  it('include type, bare and dynamic imports and re-exports', () => {
    const forms = [
      "import type { A } from '@customer-platform/cdp';",
      "export * from '@customer-platform/cdp';",
      "import '@customer-platform/cdp';",
      "const a = await import('@customer-platform/cdp');",
      "import {\n  a,\n  b,\n} from '@customer-platform/cdp';",
      "let a: import('@customer-platform/cdp').A;",
    ];
    for (const form of forms) expect(roomFaults(code, `${form}\n`)).toHaveLength(1);
  });
});

describe('import cycles', () => {
  const files = (imports: Record<string, string>) =>
    Object.entries(imports).map(([file, specifier]) => sourceOf(`services/x/src/${file}`, line(specifier)));
  const between = files({
    'a/one.ts': '../b/two.ts',
    'b/three.ts': '../c.ts',
    'c.ts': './a/four.ts',
    'a/five.ts': './one.ts',
  });

  it('of two files are found, also through a type import', () => {
    const sources = [
      sourceOf('gateway/src/a.ts', line('./b.ts')),
      sourceOf('gateway/src/b.ts', "import type { A } from './a.ts';"),
    ];
    expect(circleFaultsOf(sources)).toEqual([
      'gateway/src/a.ts:1: imports gateway/src/b.ts; gateway/src/b.ts:1 imports gateway/src/a.ts, ' +
        'which closes the import cycle a.ts -> b.ts -> a.ts in gateway/src; move the shared code into its own module',
    ]);
  });

  it('of folders are found even if their files have none', () => {
    expect(circleFaultsOf(between)).toEqual([
      expect.stringContaining('closes the import cycle a -> b -> c.ts -> a in'),
    ]);
  });

  it('are never closed by a test', () => {
    expect(circleFaultsOf(files({ 'a/one.ts': '../b/two.ts', 'b/two.test.ts': '../a/one.ts' }))).toEqual([]);
  });
});

describe('folders of kit and gateway', () => {
  const many = (folder: string, count: number) =>
    Array.from({ length: count }, (_, index) => sourceOf(`${folder}/${index}.ts`, ''));

  it('have at most 25 files, tests included', () => {
    const files = [...many('gateway/src/a', 25), ...many('services/crm/src/a', 26)];
    expect(folderFaultsOf(files)).toEqual([]);
    expect(folderFaultsOf([...files, sourceOf('gateway/src/a/b.test.ts', '')])).toEqual([
      'gateway/src/a: has 26 files; the maximum is 25',
    ]);
  });

  it('have no file under 25 lines with a single importer', () => {
    const small = (file: string, lines: number) => sourceOf(`gateway/src/${file}`, 'x;\n'.repeat(lines));
    const importing = (file: string, target: string) =>
      sourceOf(`gateway/src/${file}`, `${line(target)}${'x;\n'.repeat(30)}`);
    const sources = [
      ...[small('a.ts', 24), importing('b.ts', './a.ts'), importing('b.test.ts', './a.ts')],
      ...[small('c.ts', 25), importing('d.ts', './c.ts'), small('e.sql.ts', 1), importing('f.ts', './e.sql.ts')],
      ...[small('g.ts', 1), importing('h.ts', './g.ts'), importing('i.ts', './g.ts'), small('main.ts', 1)],
    ];
    expect(smallFileFaultsOf(sources)).toEqual([
      'gateway/src/a.ts: has 24 lines and only gateway/src/b.ts imports it; move its code there',
    ]);
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
    expect(sleepFaultsOf(sourceOf(test, `\n${text}`))).toEqual([expect.stringContaining(`${test}:2: pauses`)]);
    expect(sleepFaultsOf(sourceOf(code, text))).toEqual([]);
  });

  it.each([
    'await new Promise((_, reject) => setTimeout(() => reject(new Error()), 5_000));',
    'serve((_, response) => setTimeout(() => response.end(), 50));',
    'socket.pause();',
    "import { setImmediate } from 'node:timers/promises';",
  ])('are none: %s', (text) => {
    expect(sleepFaultsOf(sourceOf(test, text))).toEqual([]);
  });
});
