import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { docsKeyFile, type Secrets } from './platform-directory.ts';
import { roleUrl } from './provision.ts';
import type { ManagedProcess } from './supervisor/managed-process.ts';

/** Folders, URLs, ports and secrets of the platform on this machine. */
export interface Platform {
  /** Folder of the repository; `directory` is the folder of the platform's data in it. */
  root: string;
  directory: string;
  databaseUrl: string;
  /** Returns the bus URL of a service. */
  natsUrl(service: string): string;
  redisUrl: string;
  gatewayPort: number;
  adminPort: number;
  /** Ports by service name. */
  ports: Record<string, number>;
  secrets: Secrets;
}

/** Process of the platform. Its database schema has the same name. */
export interface Deployable {
  name: string;
  /** Main file, relative to the repository. */
  entry: string;
  /** Settings in addition to those that every process gets. The caller's environment overrides `defaults`. */
  env?(platform: Platform): Record<string, string>;
  defaults?(platform: Platform): Record<string, string>;
}

export const gateway: Deployable = {
  name: 'gateway',
  entry: 'gateway/src/main.ts',
  env: (platform) => ({
    ...gatewayOnlySettings(),
    GATEWAY_PORT: String(platform.gatewayPort),
    GATEWAY_HOST: '127.0.0.1',
    ADMIN_PORT: String(platform.adminPort),
    ADMIN_HOST: '127.0.0.1',
    ADMIN_TOKEN: platform.secrets.ADMIN_TOKEN,
    TRACE_TOKEN: platform.secrets.TRACE_TOKEN,
    REDIS_URL: platform.redisUrl,
    READY_FILE: readyFile(platform),
    DOCS_KEY_FILE: docsKeyFile(platform.directory),
    ...Object.fromEntries(services.map(({ name }) => [`${name.toUpperCase()}_URL`, serviceUrl(platform, name)])),
  }),
};

/** Allows loopback targets, because customers of a local platform run on the same machine. */
const localTargets = () => ({ WEBHOOKS_ALLOWED_RANGES: '127.0.0.0/8,::1/128' });

export const services: Deployable[] = [
  {
    name: 'agents',
    entry: 'services/agents/src/main.ts',
    env: (platform) => ({ AGENTS_SECRET_KEY: platform.secrets.AGENTS_SECRET_KEY }),
    defaults: localTargets,
  },
  { name: 'calendar', entry: 'services/calendar/src/main.ts' },
  { name: 'catalogue', entry: 'services/catalogue/src/main.ts' },
  { name: 'cdp', entry: 'services/cdp/src/main.ts' },
  { name: 'crm', entry: 'services/crm/src/main.ts' },
  {
    name: 'messaging',
    entry: 'services/messaging/src/main.ts',
    env: (platform) => ({ MESSAGING_SECRET_KEY: platform.secrets.MESSAGING_SECRET_KEY }),
    defaults: (platform) => ({ ...localTargets(), PUBLIC_URL: `http://127.0.0.1:${platform.gatewayPort}` }),
  },
  {
    name: 'webhooks',
    entry: 'services/webhooks/src/main.ts',
    env: (platform) => ({ WEBHOOKS_SECRET_KEY: platform.secrets.WEBHOOKS_SECRET_KEY }),
    defaults: localTargets,
  },
];

/** Returns the path of the ready file. While the file is missing, the gateway's public /readyz responds 503. */
export function readyFile(platform: Platform): string {
  return join(platform.directory, 'ready');
}

function serviceUrl(platform: Platform, name: string): string {
  return `http://127.0.0.1:${platform.ports[name]}`;
}

/**
 * Returns the process of a deployable on this machine: Node on its entry file, ready when its /readyz responds 200.
 * The gateway's /readyz is on the admin port, which does not wait for the ready file.
 * @throws Error when the entry file is missing
 */
export function describeProcess(deployable: Deployable, platform: Platform): ManagedProcess {
  const { name } = deployable;
  const entry = join(platform.root, deployable.entry);
  if (!existsSync(entry)) throw new Error(`${deployable.entry} is missing: check out the whole repository`);
  const port = name === gateway.name ? platform.adminPort : platform.ports[name];
  return {
    name,
    command: process.execPath,
    args: [entry],
    cwd: platform.root,
    env: {
      ...inheritedEnvironment(),
      ...definedDefaults({ LOG_LEVEL: 'warn', DRAIN_DELAY_SECONDS: '0', ...deployable.defaults?.(platform) }),
      // Requests allocate much short-lived memory. These limits keep V8 and malloc from growing, at no measured cost.
      NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --max-semi-space-size=8`.trim(),
      MALLOC_ARENA_MAX: '1',
      // One per process: processes that exit together and overwrite the same cache files take many seconds to exit.
      NODE_COMPILE_CACHE: join(platform.directory, 'compile-cache', name),
      HOST: '127.0.0.1',
      PORT: String(port),
      ...databaseUrls(platform, name),
      NATS_URL: platform.natsUrl(name),
      CONTEXT_SECRET: platform.secrets.CONTEXT_SECRET,
      ...traceExport(platform),
      ...deployable.env?.(platform),
    },
    stopSignal: 'SIGTERM',
    recordFile: join(platform.directory, 'run', `${name}.json`),
    ready: () => isUp(`http://127.0.0.1:${port}/readyz`),
  };
}

/** Returns the settings that send all spans to the gateway's control plane, or none if the caller has a collector. */
function traceExport({ adminPort, secrets }: Platform): Record<string, string> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_METRICS_EXPORTER = 'none' } = process.env;
  if (OTEL_EXPORTER_OTLP_ENDPOINT) return {};
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${adminPort}`,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${secrets.TRACE_TOKEN}`,
    OTEL_BSP_SCHEDULE_DELAY: '1000',
    OTEL_METRICS_EXPORTER,
  };
}

/** Returns the caller's environment (such as OTEL_…) without npm's variables and without secrets of single processes. */
function inheritedEnvironment(): Record<string, string> {
  const hidden =
    /^(npm_|INIT_CWD$|ADMIN_TOKENS?$|TRACE_TOKEN$|CONTEXT_SECRET$|AGENTS_SECRET_KEY$|MESSAGING_SECRET_KEY$|WEBHOOKS_SECRET_KEY$|DATABASE_URL$|REDIS_|NATS_URL$)/;
  return callerSettings((key) => !hidden.test(key));
}

/** Returns the caller's wanted settings, except the settings of a server whose URL the caller does not set. */
function callerSettings(isWanted: (key: string) => boolean): Record<string, string> {
  const entries = Object.entries(process.env).filter(
    ([key, value]) => value !== undefined && isWanted(key) && !isOfUnsetServer(key),
  );
  return Object.fromEntries(entries) as Record<string, string>;
}

/** Returns DATABASE_URL and the further database URLs that the caller sets, each with the role of a process. */
function databaseUrls({ databaseUrl, secrets }: Platform, name: string): Record<string, string> {
  const others = ['DATABASE_DIRECT_URL'].filter((key) => !isOfUnsetServer(key));
  const urls = { DATABASE_URL: databaseUrl, ...Object.fromEntries(others.map((key) => [key, process.env[key]])) };
  const named = Object.entries(urls).flatMap(([key, url]) =>
    url ? [[key, roleUrl(url, name, secrets.roles[name] ?? '')]] : [],
  );
  return Object.fromEntries(named) as Record<string, string>;
}

/** Returns the caller's settings that only the gateway gets. */
const gatewayOnlySettings = () => callerSettings((key) => /^(ADMIN_TOKENS$|REDIS_)/.test(key));

/** Settings that say how to reach the server of a URL. They do not apply to a server that npm start runs itself. */
const settingsByServer: Record<string, RegExp> = {
  DATABASE_URL: /^DATABASE_(POOLER|DIRECT_URL)$/,
  NATS_URL: /^NATS_/,
  REDIS_URL: /^REDIS_(MODE$|SENTINEL_)/,
};

/** Returns whether a setting belongs to a server whose URL the caller does not set. */
function isOfUnsetServer(key: string): boolean {
  return Object.entries(settingsByServer).some(([url, settings]) => !process.env[url] && settings.test(key));
}

function definedDefaults(defaults: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(defaults).map(([key, value]) => [key, process.env[key] ?? value]));
}

/** Returns whether a GET of the URL returns 200 within two seconds. */
export async function isUp(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
    await response.body?.cancel();
    return response.status === 200;
  } catch {
    return false; // nothing listens there yet
  }
}
