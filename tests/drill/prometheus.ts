import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@customer-platform/deploy/local-port';
import { startServer } from '@customer-platform/deploy/managed-process';
import { findProgram } from '@customer-platform/deploy/server-binary';
import { scaleRules } from './scaled-rules.ts';

const root = join(import.meta.dirname, '../..');

/** Alert that Prometheus has now. */
export interface Alert {
  name: string;
  labels: Record<string, string>;
  isFiring: boolean;
}

/** Prometheus with the project's alert rules, scaled. */
export interface AlertingPrometheus {
  alerts(): Promise<Alert[]>;
  stop(): Promise<void>;
}

/** Starts Prometheus on loopback: it scrapes each job's port and evaluates the rules once a second. Keeps its files in `directory`. */
export async function startAlerting(
  directory: string,
  jobs: Record<string, number>,
  say: (line: string) => void,
): Promise<AlertingPrometheus> {
  const cacheDirectory = join(root, '.platform/debian');
  const program = await findProgram({ program: 'prometheus', debianPackage: 'prometheus', cacheDirectory, say });
  mkdirSync(join(directory, 'alerts'), { recursive: true });
  const folder = join(root, 'deploy/observe/alerts');
  for (const file of globSync('*.yml', { cwd: folder })) {
    writeFileSync(join(directory, 'alerts', file), scaleRules(readFileSync(join(folder, file), 'utf8')));
  }
  const config = {
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    rule_files: ['alerts/*.yml'],
    scrape_configs: Object.entries(jobs).map(([job_name, port]) => ({
      job_name,
      static_configs: [{ targets: [`127.0.0.1:${port}`] }],
    })),
  };
  writeFileSync(join(directory, 'prometheus.yml'), JSON.stringify(config)); // JSON is YAML
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const server = await startServer({
    name: 'prometheus',
    command: program.command,
    args: [
      '--config.file=prometheus.yml',
      '--storage.tsdb.path=data',
      '--log.level=warn',
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
  return { alerts: () => alertsOf(url), stop: () => server.stop() };
}

async function alertsOf(url: string): Promise<Alert[]> {
  const response = await fetch(`${url}/api/v1/alerts`, { signal: AbortSignal.timeout(5_000) });
  const { data } = (await response.json()) as {
    data: { alerts: { labels: Record<string, string>; state: string }[] };
  };
  return data.alerts.map(({ labels: { alertname = '', ...labels }, state }) => ({
    name: alertname,
    labels,
    isFiring: state === 'firing',
  }));
}
