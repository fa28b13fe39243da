import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@customer-platform/deploy/local-port';
import { findProgram, type Program } from '@customer-platform/deploy/servers/server-binary';
import { startServer } from '@customer-platform/deploy/supervisor/managed-process';
import { newDataFolder, programsFolder } from '@customer-platform/testkit';

/** Series in a query's result, with its labels and latest value. */
export interface Sample {
  labels: Record<string, string>;
  value: number;
}

/** Alert that is pending or firing. */
export interface Alert {
  name: string;
  labels: Record<string, string>;
  isFiring: boolean;
}

/** Prometheus of a test. */
export interface Prometheus {
  /** Returns the result of an instant query, without NaN values. Throws if the query is invalid. */
  query(expression: string): Promise<Sample[]>;
  /** Returns the alerts of its rules. */
  alerts(): Promise<Alert[]>;
  stop(): Promise<void>;
}

/** Returns a program of Prometheus; undefined if neither PATH nor Debian has it. */
export async function findPrometheus(program: 'prometheus' | 'promtool' = 'prometheus'): Promise<Program | undefined> {
  const wanted = { program, debianPackage: 'prometheus', cacheDirectory: programsFolder() };
  return await findProgram({ ...wanted, say: (line) => console.log(line) }).catch((error: Error) => {
    console.warn(`skipped: ${error.message}`);
    return undefined;
  });
}

/** Starts Prometheus on loopback. Once a second it scrapes each job's port and evaluates `rules`, each the text of a file. */
export async function startPrometheus(
  program: Program,
  jobs: Record<string, number>,
  rules: readonly string[] = [],
): Promise<Prometheus> {
  const directory = newDataFolder();
  const port = await freePort();
  for (const [index, text] of rules.entries()) writeFileSync(join(directory, `rules-${index}.yml`), text);
  const config = {
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    rule_files: ['rules-*.yml'],
    scrape_configs: Object.entries(jobs).map(([job_name, jobPort]) => ({
      job_name,
      static_configs: [{ targets: [`127.0.0.1:${jobPort}`] }],
    })),
  };
  writeFileSync(join(directory, 'prometheus.yml'), JSON.stringify(config)); // JSON is YAML
  const url = `http://127.0.0.1:${port}`;
  const server = await startServer({
    name: 'prometheus',
    command: program.command,
    args: [
      `--config.file=${join(directory, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(directory, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    env: { PATH: process.env.PATH ?? '/usr/bin:/bin', GOMAXPROCS: '1', ...program.env },
    cwd: directory,
    stopSignal: 'SIGTERM',
    recordFile: join(directory, 'process.json'),
    logFile: join(directory, 'prometheus.log'),
    url,
    ready: async () => (await fetch(`${url}/-/ready`).catch(() => undefined))?.ok === true,
  });
  return {
    query: (expression) => query(url, expression),
    alerts: () => alertsOf(url),
    stop: async () => {
      await server.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function query(url: string, expression: string): Promise<Sample[]> {
  const body = new URLSearchParams({ query: expression });
  const response = await fetch(`${url}/api/v1/query`, { method: 'POST', body, signal: AbortSignal.timeout(10_000) });
  const { data, error } = (await response.json()) as {
    data?: { result: { metric: Record<string, string>; value: [number, string] }[] };
    error?: string;
  };
  if (!data) throw new Error(`${expression}: ${error}`);
  const samples = data.result.map(({ metric, value: [, value] }) => ({ labels: metric, value: Number(value) }));
  return samples.filter(({ value }) => !Number.isNaN(value));
}

async function alertsOf(url: string): Promise<Alert[]> {
  const response = await fetch(`${url}/api/v1/alerts`, { signal: AbortSignal.timeout(10_000) });
  const { data } = (await response.json()) as {
    data: { alerts: { labels: Record<string, string>; state: string }[] };
  };
  return data.alerts.map(({ labels: { alertname = '', ...labels }, state }) => ({
    name: alertname,
    labels,
    isFiring: state === 'firing',
  }));
}
