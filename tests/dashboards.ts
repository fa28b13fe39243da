import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Panel in a dashboard's file. A row has neither targets nor a unit. */
export interface Panel {
  id: number;
  type: string;
  title: string;
  description?: string;
  gridPos: { x: number; y: number; w: number; h: number };
  datasource?: { type: string; uid: string };
  targets?: { refId: string; expr: string; legendFormat: string }[];
  fieldConfig?: { defaults: { unit?: string } };
}

/** Dashboard from its file, with its queries for Prometheus. */
export interface Dashboard {
  file: string;
  uid: string;
  title: string;
  panels: Panel[];
  queries: PanelQuery[];
  /** Variables whose values come from a label of a metric. */
  variables: { metric: string; label: string }[];
}

export interface PanelQuery {
  /** Titles of dashboard and panel. */
  panel: string;
  /** Expression that selects all values of each variable. */
  expression: string;
  /** Labels that the legend names. */
  legend: string[];
}

const folder = join(import.meta.dirname, '../deploy/observe/dashboards');

/** Reads the dashboards of deploy/observe. */
export function readDashboards(): Dashboard[] {
  return globSync('*.json', { cwd: folder })
    .sort()
    .map((file) => {
      const { uid, title, panels, templating } = JSON.parse(readFileSync(join(folder, file), 'utf8'));
      const queries = (panels as Panel[]).flatMap((panel) =>
        (panel.targets ?? []).map(({ expr, legendFormat }) => ({
          panel: `${title}: ${panel.title}`,
          expression: withAllValues(expr),
          legend: [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label!),
        })),
      );
      const variables = (templating.list as { query: string }[]).flatMap(({ query }) => {
        const [, metric, label] = /^label_values\((.+), (\w+)\)$/.exec(withAllValues(query)) ?? [];
        return metric && label ? [{ metric, label }] : [];
      });
      return { file, uid, title, panels, queries, variables };
    });
}

/** Replaces Grafana's variables: the dashboard's variables by "All", the rate interval by one minute. */
function withAllValues(expression: string): string {
  return expression.replaceAll('$__rate_interval', '1m').replace(/"\$\w+"/g, '".*"');
}

/** Returns the names of metrics in an expression: words with an underscore that are neither labels nor functions. */
export function metricsIn(expression: string): string[] {
  const grouped = expression.replace(/\b(?:by|on) \([^()]*\)/g, '');
  const outside = grouped.replace(/\{[^{}]*\}/g, '').replace(/\[[^[\]]*\]/g, '');
  return [...new Set([...outside.matchAll(/\b[a-z][a-z0-9]*_\w+\b(?!\()/g)].map(([name]) => name))];
}
