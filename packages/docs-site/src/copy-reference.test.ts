import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { copyReference } from './copy-reference.ts';
import { referenceHead } from './reference/head.ts';

it('the built site has all files that the reference page loads, and no tests', async () => {
  const dist = mkdtempSync(join(tmpdir(), 'dist-'));
  try {
    await copyReference(dist);
    const files = readdirSync(join(dist, 'reference'));
    const named = JSON.stringify(referenceHead).matchAll(/\/docs\/reference\/([\w.-]+)/g);
    const imported = readFileSync(join(dist, 'reference', 'start.js'), 'utf8').matchAll(
      /'(?:\.|\/docs\/reference)\/([\w.-]+)'/g,
    );
    const loaded = [...named, ...imported].map(([, name]) => name!);
    expect(loaded).toEqual(expect.arrayContaining(['start.js', 'scalar.js', 'reference.css', 'nonce.js']));
    expect(files).toEqual(expect.arrayContaining(loaded));
    expect(files.filter((name) => name.endsWith('.ts'))).toEqual([]);
    expect(readFileSync(join(dist, 'reference', 'scalar.js'), 'utf8')).toContain('createApiReference');
  } finally {
    rmSync(dist, { recursive: true, force: true });
  }
});
