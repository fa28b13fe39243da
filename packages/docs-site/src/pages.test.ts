import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { guides } from './manifest.ts';
import { bodyFor, readPages } from './pages.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pages-'));
  for (const { file, title } of guides) writeFileSync(join(folder, file), `# ${title}\n\nText.\n`);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const write = (file: string, text: string) => writeFileSync(join(folder, file), text);

it('has every listed page, and no link of a public page leaves the site', () => {
  expect(readPages().map(({ file }) => file)).toEqual([...guides.map(({ file }) => file), 'reference.md']);
});

it('names a listed page that is missing', () => {
  rmSync(join(folder, 'errors.md'));
  expect(() => readPages(folder)).toThrow('Missing pages: docs/errors.md. Write them, or remove them from ');
});

it("names file and line of links to operators' pages, to sources and to missing files", () => {
  write('errors.md', '# Errors\n\nSee [operations](operations.md)\nand [the code](../packages/client/README.md).\n');
  write('paging.md', '# Paging\n\n![A picture](images/none.svg)\n');
  expect(() => readPages(folder)).toThrow(
    [
      'docs/errors.md:3: operations.md must be a page of the site or a picture in docs/images',
      'docs/errors.md:4: ../packages/client/README.md must be a page of the site or a picture in docs/images',
      'docs/paging.md:3: images/none.svg must be a page of the site or a picture in docs/images',
    ].join('\n'),
  );
});

it('rejects a page without a heading', () => {
  write('errors.md', 'Errors\n');
  expect(() => readPages(folder)).toThrow('docs/errors.md:1: the first line must be a heading');
});

it('rewrites links for the site and for Markdown', () => {
  write('errors.md', '# Errors\n\n[a](paging.md#next) [b](reference/operations.md#getMe) [c](index.md) [d](#text)\n');
  const page = readPages(folder).find(({ file }) => file === 'errors.md')!;
  expect(bodyFor(page, '')).toBe('\n[a](/docs/paging#next) [b](/docs/reference#getMe) [c](/docs) [d](#text)\n');
  expect(bodyFor(page, '.md')).toContain('[a](/docs/paging.md#next) [b](/docs/reference.md#getMe) [c](/docs/index.md)');
});
