import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '..');

/** Returns the metrics that the code creates: counters and histograms, and gauges, which are keys of an options object. */
function metricsInCode(): string[] {
  const files = globSync('{packages,services,gateway}/**/src/**/*.ts', {
    cwd: root,
    exclude: (name) => name === 'node_modules' || name.endsWith('.test.ts'),
  });
  const names = files.flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    if (!/\bmeter\b/.test(text)) return [];
    const made = text.matchAll(
      /\bmeter\.create\w+\(\s*'([^']+)'|^ *(?:const gauges = \{ )?'([a-z_0-9]+(?:\.[a-z_0-9]+)+)': \{/gm,
    );
    return [...made].map(([, instrument, gauge]) => instrument ?? gauge!);
  });
  return [...new Set(names)].sort();
}

it('the reference lists exactly the metrics of the code', () => {
  const page = readFileSync(join(root, 'docs/reference/metrics.md'), 'utf8');
  const rows = page.slice(page.indexOf('## Metrics'), page.indexOf('## Limits')).matchAll(/^\| `([a-z_0-9.]+)` \|/gm);
  expect([...rows].map(([, name]) => name!).sort()).toEqual(metricsInCode());
});

it('the reference lists each counted limit', () => {
  const page = readFileSync(join(root, 'docs/reference/metrics.md'), 'utf8');
  const limits = readFileSync(join(root, 'packages/service-kit/src/telemetry/limits.ts'), 'utf8').matchAll(
    /^ {2}\| '(\w+)'/gm,
  );
  const rows = page.slice(page.indexOf('## Limits')).matchAll(/^\| `(\w+)` \|/gm);
  expect([...rows].map(([, name]) => name)).toEqual([...limits].map(([, name]) => name));
});
