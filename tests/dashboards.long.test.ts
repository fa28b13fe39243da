import { freePort } from '@customer-platform/deploy/local-port';
import { type ProcessPlatform, startProcessPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { metricsIn, readDashboards } from './dashboards.ts';
import { type Load, startLoad } from './load.ts';
import { findPrometheus, type Prometheus, startPrometheus } from './prometheus.ts';

/** Panels without data in this test, with the reason. */
const emptyHere = new Map([
  ['API: Invalid keys refused with 429', 'no client sends invalid keys'],
  ['API: Failing operations', 'no operation responds with 5xx'],
]);
/** Metrics that do not exist in this test, with the reason. */
const missingHere = new Map([
  ['gateway_requests_unread_total', 'clients send valid HTTP'],
  ['gateway_rate_limit_fallback_total', 'Redis is available'],
]);

/** Maximum iterations per second of a loop: far above the need of this load, far below a loop that does not sleep. */
const mostRounds = 60;

const program = await findPrometheus();
const dashboards = readDashboards();
let platform: ProcessPlatform | undefined;
let prometheus: Prometheus | undefined;
let load: Load | undefined;

(program ? describe : describe.skip)('the dashboards, with a Prometheus that scrapes a platform in use', () => {
  beforeAll(async () => {
    const ports: Record<string, number> = {};
    for (const name of ['gateway', 'agents', 'calendar', 'catalogue', 'cdp', 'crm', 'messaging', 'webhooks'])
      ports[name] = await freePort();
    platform = await startProcessPlatform((name) => ({
      NATS_STREAM_MIB: '1024',
      OTEL_METRICS_EXPORTER: 'prometheus',
      OTEL_EXPORTER_PROMETHEUS_HOST: '127.0.0.1',
      OTEL_EXPORTER_PROMETHEUS_PORT: String(ports[name]),
    }));
    prometheus = await startPrometheus(program!, ports);
    load = await startLoad(platform);
  }, 240_000);
  afterAll(async () => {
    await load?.stop();
    await prometheus?.stop();
    await platform?.stop();
  }, 60_000);

  it('have data in every panel, with the labels of its legend', async () => {
    const panels = dashboards.flatMap((dashboard) => dashboard.queries);
    let missing: string[] = [];
    const isComplete = async () => {
      await load!.round();
      missing = (await Promise.all(panels.map(lackOf))).flat();
      return missing.length === 0;
    };
    // A rate needs two scrapes with requests between them.
    await waitFor('data in every panel', isComplete, 150_000).catch(() => undefined);
    expect(missing).toEqual([]);
  }, 180_000);

  it('read existing metrics, except those that only faults create', async () => {
    const names = [
      ...new Set(dashboards.flatMap(({ queries }) => queries.flatMap(({ expression }) => metricsIn(expression)))),
    ];
    const found = await Promise.all(names.map(async (name) => (await prometheus!.query(`count(${name})`)).length > 0));
    const missing = names.filter((_, index) => !found[index]);
    // A busy machine may cause some of these faults by itself.
    expect(missing.filter((name) => !missingHere.has(name))).toEqual([]);
    expect(names).toEqual(expect.arrayContaining([...missingHere.keys()]));
  });

  it('show no busy loop', async () => {
    const rates = await prometheus!.query('max by (job, loop) (rate(platform_loop_rounds_total[1m]))');
    expect(rates.length).toBeGreaterThan(20);
    const names = rates.filter(({ value }) => value > mostRounds).map(({ labels }) => `${labels.job} ${labels.loop}`);
    expect(names).toEqual([]);
  });

  it('offer values of every variable', async () => {
    const variables = dashboards.flatMap((dashboard) => dashboard.variables);
    const offered = await Promise.all(
      variables.map(
        async ({ metric, label }) => (await prometheus!.query(`count by (${label}) (${metric})`))[0]?.labels,
      ),
    );
    expect(offered.map((labels) => Object.keys(labels ?? {}))).toEqual(variables.map(({ label }) => [label]));
  });

  it('count the tokens of AI calls as billed', async () => {
    const perCall = 'sum by (gen_ai_token_type) (gen_ai_client_token_usage_sum / gen_ai_client_token_usage_count)';
    const samples = await prometheus!.query(perCall);
    const tokens = Object.fromEntries(samples.map(({ labels, value }) => [labels.gen_ai_token_type, value]));
    expect(tokens).toEqual({ input: 400, output: 100 });
  });
});

/** Returns what a panel's query lacks: data, or a label of its legend. */
async function lackOf({ panel, expression, legend }: { panel: string; expression: string; legend: string[] }) {
  if (emptyHere.has(panel)) return [];
  const samples = await prometheus!.query(expression);
  if (samples.length === 0) return [`${panel}: no data for ${expression}`];
  return legend
    .filter((label) => !samples.some(({ labels }) => labels[label]))
    .map((label) => `${panel}: no label ${label}`);
}
