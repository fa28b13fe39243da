import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { metricsIn, type Panel, readDashboards } from './dashboards.ts';

const dashboards = readDashboards();
const docs = join(import.meta.dirname, '../docs');
const page = readFileSync(join(docs, 'operations.md'), 'utf8');
const reference = readFileSync(join(docs, 'reference/metrics.md'), 'utf8');

/** Returns the names that Prometheus gives the documented metrics, without the suffixes of counters and histograms. */
function documentedMetrics(): string[] {
  const rows = reference.slice(0, reference.indexOf('## Limits')).matchAll(/^\| `([a-z_0-9.]+)` \|/gm);
  return [...rows].map(([, name]) => name!.replaceAll('.', '_'));
}

const overlap = (a: Panel['gridPos'], b: Panel['gridPos']) =>
  a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

it('every documented metric is on a dashboard, and dashboards have no other', () => {
  const shown = dashboards.flatMap(({ queries }) => queries.flatMap(({ expression }) => metricsIn(expression)));
  const names = new Set(shown.map((name) => name.replace(/_(?:total|bucket|sum|count)$/, '')));
  names.delete('target_info');
  // The only name that ends as a histogram's series do.
  if (names.delete('db_client_connection')) names.add('db_client_connection_count');
  expect([...names].sort()).toEqual(documentedMetrics().sort());
});

describe.each(dashboards)('the dashboard $title', ({ file, uid, title, panels }) => {
  it('is found by its file, its id and its title', () => {
    expect(uid).toBe(`customer-platform-${file.replace('.json', '')}`);
    expect(page.includes(`**${title}**`)).toBe(true);
  });

  it('has panels that say what they show, in which unit, from the data source that was chosen', () => {
    for (const { type, description, datasource, fieldConfig, targets } of panels) {
      if (type === 'row') continue;
      expect(description).toMatch(/\.$/);
      expect(datasource).toEqual({ type: 'prometheus', uid: `\${datasource}` });
      expect(fieldConfig?.defaults.unit).toBeDefined();
      expect(targets?.every(({ legendFormat }) => legendFormat !== '')).toBe(true);
    }
  });

  it('has panels that do not overlap, under rows that lead from whether all is well to why not', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const pairs = panels.flatMap((a, index) => panels.slice(index + 1).map((b) => [a, b] as const));
    expect(pairs.filter(([a, b]) => overlap(a.gridPos, b.gridPos)).map(([a, b]) => [a.title, b.title])).toEqual([]);
    const rows = panels.filter(({ type }) => type === 'row').map((row) => row.title);
    expect(rows[0]).toBe('Is it well?');
    expect(rows.at(-1)).toMatch(/^Why not\?/);
  });
});
