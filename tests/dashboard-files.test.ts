import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { metricsIn, type Panel, readDashboards } from './dashboards.ts';

const dashboards = readDashboards();
const docs = join(import.meta.dirname, '../docs');
const page = readFileSync(join(docs, 'operations.md'), 'utf8');
const reference = readFileSync(join(docs, 'reference/metrics.md'), 'utf8');

/** Returns the Prometheus names of the documented metrics, without the suffixes of counters and histograms. */
function documentedMetrics(): string[] {
  const rows = reference.slice(0, reference.indexOf('## Limits')).matchAll(/^\| `([a-z_0-9.]+)` \|/gm);
  return [...rows].map(([, name]) => name!.replaceAll('.', '_'));
}

const overlap = (a: Panel['gridPos'], b: Panel['gridPos']) =>
  a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

it('the dashboards show exactly the documented metrics', () => {
  const shown = dashboards.flatMap(({ queries }) => queries.flatMap(({ expression }) => metricsIn(expression)));
  const names = new Set(shown.map((name) => name.replace(/_(?:total|bucket|sum|count)$/, '')));
  names.delete('target_info');
  // The only metric name that ends like a histogram's series.
  if (names.delete('db_client_connection')) names.add('db_client_connection_count');
  expect([...names].sort()).toEqual(documentedMetrics().sort());
});

describe.each(dashboards)('the dashboard $title', ({ file, uid, title, panels }) => {
  it('is found by its file, its id and its title', () => {
    expect(uid).toBe(`customer-platform-${file.replace('.json', '')}`);
    expect(page.includes(`**${title}**`)).toBe(true);
  });

  it('has panels with a description, a unit and the selected data source', () => {
    for (const { type, description, datasource, fieldConfig, targets } of panels) {
      if (type === 'row') continue;
      expect(description).toMatch(/\.$/);
      expect(datasource).toEqual({ type: 'prometheus', uid: `\${datasource}` });
      expect(fieldConfig?.defaults.unit).toBeDefined();
      expect(targets?.every(({ legendFormat }) => legendFormat !== '')).toBe(true);
    }
  });

  it('has panels that do not overlap, and rows from health to causes', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const pairs = panels.flatMap((a, index) => panels.slice(index + 1).map((b) => [a, b] as const));
    expect(pairs.filter(([a, b]) => overlap(a.gridPos, b.gridPos)).map(([a, b]) => [a.title, b.title])).toEqual([]);
    const rows = panels.filter(({ type }) => type === 'row').map((row) => row.title);
    expect(rows[0]).toBe('Is it healthy?');
    expect(rows.at(-1)).toMatch(/^Why not\?/);
  });
});
