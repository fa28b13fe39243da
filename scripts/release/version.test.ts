import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { serviceNames } from '@customer-platform/contracts/core';
import { describe, expect, it } from '@jest/globals';
import { folderOf } from '../deployables.ts';
import { releasedChangelog, unreleasedIn } from './changelog.ts';
import { composeWith, lockFileWith, manifestWith, nextVersion } from './version.ts';

const read = (file: string) => readFileSync(join(import.meta.dirname, '../..', file), 'utf8');
/** Returns the lines that differ between two texts of equal length. */
function changedLines(before: string, after: string): [string | undefined, string][] {
  const lines = before.split('\n');
  expect(after.split('\n')).toHaveLength(lines.length);
  return after.split('\n').flatMap((line, index) => (line === lines[index] ? [] : [[lines[index], line]]));
}

describe('the next version', () => {
  it.each([
    ['major', '2.0.0'],
    ['minor', '1.5.0'],
    ['patch', '1.4.8'],
  ] as const)('of a %s release follows semantic versioning', (kind, expected) => {
    expect(nextVersion('1.4.7', kind)).toBe(expected);
  });
});

describe('a new version', () => {
  it.each(serviceNames)(
    'of %s changes one line of package.json, package-lock.json and docker-compose.yml each',
    (name) => {
      const folder = folderOf(name);
      const manifest = read(`${folder}/package.json`);
      expect(changedLines(manifest, manifestWith(manifest, '98.7.6'))).toEqual([
        [expect.stringMatching(/^ {2}"version": "\d/), '  "version": "98.7.6",'],
      ]);
      const lockFile = read('package-lock.json');
      const locked = lockFileWith(lockFile, folder, '98.7.6');
      expect(changedLines(lockFile, locked)).toHaveLength(1);
      const { packages } = JSON.parse(locked) as { packages: Record<string, { version: string }> };
      expect(packages[folder]).toMatchObject({ name: `@customer-platform/${name}`, version: '98.7.6' });
      const compose = read('docker-compose.yml');
      expect(changedLines(compose, composeWith(compose, name, '98.7.6'))).toEqual([
        [
          expect.stringContaining(`/${name}:`),
          `    image: \${IMAGE_REGISTRY:-localhost/customer-platform}/${name}:\${${name.toUpperCase()}_VERSION:-98.7.6}`,
        ],
      ]);
    },
  );
});

describe('a changelog', () => {
  const before = '# Changelog of Pipelines\n\n## Unreleased\n';
  it('moves the content of Unreleased into the release, and keeps an empty section', () => {
    expect(
      releasedChangelog(
        `${before}\n- Deals have owners.\n  And more.\n\n## 1.0.0\n\n- Deals.\n`,
        '1.1.0',
        '2026-02-03',
      ),
    ).toBe(`${before}\n## 1.1.0 (2026-02-03)\n\n- Deals have owners.\n  And more.\n\n## 1.0.0\n\n- Deals.\n`);
    expect(releasedChangelog(`${before}- Deals.\n`, '1.0.0', '2026-02-03')).toBe(
      `${before}\n## 1.0.0 (2026-02-03)\n\n- Deals.\n`,
    );
  });

  it('with an empty section Unreleased makes no release', () => {
    expect(unreleasedIn(`${before}\n\n## 1.0.0\n\n- Deals.\n`)).toBe('');
    expect(() => releasedChangelog(`${before}\n## 1.0.0\n`, '1.1.0', '2026-02-03')).toThrow(
      'the section Unreleased is empty',
    );
    expect(() => unreleasedIn('# Changelog\n\n## 1.0.0\n')).toThrow('the heading "## Unreleased" is missing');
  });

  it.each(serviceNames)('of %s has the section Unreleased', (name) => {
    expect(() => unreleasedIn(read(`${folderOf(name)}/CHANGELOG.md`))).not.toThrow();
  });
});
