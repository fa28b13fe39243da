import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it } from '@jest/globals';

/** Most compressed bytes that a browser loads to start the console. */
const maxBytes = 300_000;

it('is at most 300 kB to load', () => {
  const dist = join(import.meta.dirname, '../dist');
  const files = globSync(['index.html', 'assets/*'], { cwd: dist });
  const bytes = files.map((name) => gzipSync(readFileSync(join(dist, name))).length);
  expect(files.length).toBeGreaterThan(2);
  expect(bytes.reduce((total, each) => total + each, 0)).toBeLessThan(maxBytes);
});
