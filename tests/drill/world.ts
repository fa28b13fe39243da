import { execFile } from 'node:child_process';
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { services } from '@customer-platform/deploy/deployables';
import { freePort } from '@customer-platform/deploy/local-port';
import {
  newDataFolder,
  type ProcessPlatform,
  type Receiver,
  rawRequest,
  startProcessPlatform,
  startReceiver,
} from '@customer-platform/testkit';
import { testCertificate } from '@customer-platform/testkit/test-certificate';
import { findPrometheus, type Prometheus, startPrometheus } from '../prometheus.ts';
import { Load } from './load.ts';
import { scaleRules } from './scaled-rules.ts';

const root = join(import.meta.dirname, '../..');
const commandMs = 20_000;

/** Platform, load and Prometheus of a drill. */
export interface World {
  platform: ProcessPlatform;
  /** Keys of two accounts, because one account may not use all connections of a service. */
  keys: string[];
  load: Load;
  /** Endpoint of both accounts that accepts everything. */
  receiver: Receiver;
  prometheus: Prometheus;
  /** Runs the command-line tool with --json, logs the command and returns the parsed output. Throws if its exit code is not 0. */
  // biome-ignore lint/suspicious/noExplicitAny: the responses of every command
  admin(...args: string[]): Promise<any>;
  /** Sends a request as the first account. Throws if it fails. */
  // biome-ignore lint/suspicious/noExplicitAny: the responses of every operation
  request(method: string, path: string, body: object): Promise<any>;
  say(line: string): void;
  stop(): Promise<void>;
}

/** Settings scaled like the rules, so that minutes become seconds. */
const scaledSettings = {
  WEBHOOKS_TIMEOUT_MS: '1000',
  WEBHOOKS_RETRY_SCHEDULE: `0,1s,2s${',5s'.repeat(47)}`,
  DATABASE_POOL: '6',
};

/** Starts everything. `stop` ends it and deletes its data. Throws without Prometheus. */
export async function startWorld(say: (line: string) => void): Promise<World> {
  const program = await findPrometheus();
  if (!program) throw new Error('Prometheus is not installed: install it, for example with apt-get install prometheus');
  const directory = newDataFolder();
  const undo: (() => Promise<void> | void)[] = [() => rmSync(directory, { recursive: true, force: true })];
  const stop = async () => {
    for (const end of undo.splice(0).reverse()) await end();
  };
  try {
    const ports = await metricsPorts();
    writeFileSync(join(directory, 'ca.pem'), testCertificate);
    const platform = await startProcessPlatform((name) => ({
      ...scaledSettings,
      NODE_EXTRA_CA_CERTS: join(directory, 'ca.pem'),
      OTEL_METRICS_EXPORTER: 'prometheus',
      OTEL_EXPORTER_PROMETHEUS_HOST: '127.0.0.1',
      OTEL_EXPORTER_PROMETHEUS_PORT: String(ports[name]),
    }));
    undo.push(() => platform.stop());
    const receiver = await startReceiver();
    undo.push(() => receiver.stop());
    const keys = [(await platform.account()).key, (await platform.account()).key];
    for (const key of keys) {
      await requestAs(platform, key, ['POST', '/v1/webhooks'], { url: receiver.url, events: ['contact.created'] });
    }
    const prometheus = await startPrometheus(program, ports, scaledRules());
    undo.push(() => prometheus.stop());
    const load = new Load(platform.gatewayUrl, keys);
    undo.push(() => load.stop());
    return {
      platform,
      keys,
      load,
      receiver,
      prometheus,
      say,
      admin: (...args) => runAdmin(platform, say, args),
      request: (method, path, body) => requestAs(platform, keys[0]!, [method, path], body),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function scaledRules(): string[] {
  const folder = join(root, 'deploy/observe/alerts');
  return globSync('*.yml', { cwd: folder }).map((file) => scaleRules(readFileSync(join(folder, file), 'utf8')));
}

async function metricsPorts(): Promise<Record<string, number>> {
  const ports: Record<string, number> = {};
  for (const name of ['gateway', ...services.map((service) => service.name)]) {
    do ports[name] = await freePort();
    while (Object.entries(ports).some(([other, port]) => other !== name && port === ports[name]));
  }
  return ports;
}

async function requestAs(platform: ProcessPlatform, key: string, [method, path]: [string, string], body: object) {
  const response = await rawRequest(platform.gatewayUrl, method, path, { key, body });
  if (response.status >= 300) throw new Error(`${method} ${path} returned ${response.status}: ${response.text}`);
  return response.body;
}

async function runAdmin({ adminUrl, adminToken }: ProcessPlatform, say: (line: string) => void, args: string[]) {
  say(`admin ${args.map((arg) => (/^[\w.:-]+$/.test(arg) ? arg : `'${arg}'`)).join(' ')}`);
  const file = join(root, 'packages/admin-cli/src/cli.ts');
  const env = { ...process.env, ADMIN_URL: adminUrl, ADMIN_TOKEN: adminToken };
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  execFile(process.execPath, [file, ...args, '--json'], { env, timeout: commandMs }, (error, stdout, stderr) => {
    if (error) reject(new Error(`admin ${args.join(' ')}: ${stdout}${stderr}`, { cause: error }));
    else resolve(stdout);
  });
  const output = await promise;
  return output.trim() === '' ? undefined : JSON.parse(output);
}
