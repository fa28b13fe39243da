import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@customer-platform/deploy/local-port';
import { startServer } from '@customer-platform/deploy/managed-process';
import { findProgram, type Program } from '@customer-platform/deploy/server-binary';

const platformFolder = join(import.meta.dirname, '../.platform');

/** Series or result of a query: its labels and its latest value. */
export interface Sample {
  labels: Record<string, string>;
  value: number;
}

/** Prometheus of a test. */
export interface Prometheus {
  /** Returns what an instant query gives now; a sample without a value (NaN) is left out. Throws where the query is wrong. */
  query(expression: string): Promise<Sample[]>;
  stop(): Promise<void>;
}

/** Returns Prometheus's program, or one of its package's; undefined where neither PATH nor Debian has it. */
export async function findPrometheus(program: 'prometheus' | 'promtool' = 'prometheus'): Promise<Program | undefined> {
  const wanted = { program, debianPackage: 'prometheus', cacheDirectory: join(platformFolder, 'debian') };
  mkdirSync(platformFolder, { recursive: true, mode: 0o700 });
  return await findProgram({ ...wanted, say: (line) => console.log(line) }).catch((error: Error) => {
    console.warn(`left out: ${error.message}`);
    return undefined;
  });
}

/** Starts Prometheus on loopback, which scrapes each job's port once a second. */
export async function startPrometheus(program: Program, jobs: Record<string, number>): Promise<Prometheus> {
  const directory = mkdtempSync(join(platformFolder, 'test-prometheus-'));
  const port = await freePort();
  const config = {
    global: { scrape_interval: '1s', scrape_timeout: '1s' },
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
