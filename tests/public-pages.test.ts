import { globSync, readFileSync } from 'node:fs';
import { appointmentStatus } from '@customer-platform/contracts/calendar';
import { attemptStatus, messageStatus } from '@customer-platform/contracts/messaging';
import { openApiDocument } from '@customer-platform/contracts/openapi';
import { deliveryReason, deliveryStatus } from '@customer-platform/contracts/webhooks';
import { expect, it } from '@jest/globals';

/** Checks docs/*.md against the contracts. guides.long.test.ts runs the pages' commands. */
const folder = new URL('../docs/', import.meta.url);
const pageOf = (file: string) => readFileSync(new URL(file, folder), 'utf8');

it('docs/concepts.md names every status of an appointment, a message, an attempt and a delivery', () => {
  const page = pageOf('concepts.md');
  const statuses = [appointmentStatus, messageStatus, attemptStatus, deliveryStatus, deliveryReason];
  const names = statuses.flatMap(({ options }) => options);
  expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

it('every method of a client that a page calls is an operation of the API', () => {
  const operations = Object.values(openApiDocument().paths ?? {}).flatMap((path) => Object.values(path as object));
  const names = new Set(operations.map((operation) => (operation as { 'x-client-name'?: string })['x-client-name']));
  const own = /^(?:events\.stream|waitFor\.?\w+|close)$/;
  const called = globSync('*.md', { cwd: folder.pathname }).flatMap((file) =>
    (pageOf(file).match(/[\w.]+\(?/g) ?? [])
      .filter((word) => word.startsWith('client.') && word.endsWith('('))
      .map((word) => ({ file, name: camelCase(word.slice('client.'.length, -1)) })),
  );
  expect(called.length).toBeGreaterThan(20);
  expect(called.filter(({ name }) => !names.has(name) && !own.test(name))).toEqual([]);
});

it('no command of a public page has a comment, because zsh on macOS treats pasted comments as arguments', () => {
  const lines = publicPages().flatMap((file) =>
    [...pageOf(file).matchAll(/^ *```sh\n([\s\S]*?)```/gm)].flatMap(([, block]) =>
      withoutQuotes(block!)
        .split('\n')
        .map((line) => `${file}: ${line.trim()}`),
    ),
  );
  expect(lines.length).toBeGreaterThan(100);
  expect(lines.filter((line) => /(?:^| )#/.test(line))).toEqual([]);
});

/** Returns the files that the site's manifest lists. The reference has no file, because the site generates it. */
function publicPages(): string[] {
  const manifest = readFileSync(new URL('../packages/docs-site/src/manifest.ts', import.meta.url), 'utf8');
  const files = [...manifest.matchAll(/ file: '([\w-]+\.md)'/g)].map(([, file]) => file!);
  return files.filter((file) => file !== 'reference.md');
}

/** Returns commands without quoted strings, so that a `#` in a string does not count. */
function withoutQuotes(commands: string): string {
  return commands.replaceAll('\\"', '').replaceAll(/'[^']*'|"[^"]*"/g, "''");
}

/** Converts a method name of the Python client to the TypeScript client's: `free_times` becomes `freeTimes`. */
function camelCase(name: string): string {
  return name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}
