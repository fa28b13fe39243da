// `npm run doctor` says whether `npm start` would succeed on this machine, and how to fix what fails. It installs and changes nothing, and
// runs on Node 20 in a fresh clone. Exit codes: 0 it would start, 1 it would not.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { freemem, homedir } from 'node:os';
import { join } from 'node:path';
import { inspectMachine, natsSource, redisSource } from '../deploy/local/servers/ways.mjs';
import { readOptions } from '../deploy/local/start-options.mjs';
import { root } from './bootstrap/artifacts.mjs';
import { factsFor } from './bootstrap/facts.mjs';
import { planOf } from './bootstrap/plan.mjs';
import * as checks from './doctor/checks.mjs';

const waitMs = 5_000;
const npmWaitMs = 30_000;
const platform = join(root, '.platform');
const { env } = process;
const registry = env.npm_config_registry || 'https://registry.npmjs.org/';
let isFit = true;

function say(name, { state, says }) {
  if (state === 'fail') isFit = false;
  console.log(`${state.padEnd(6)}${name.padEnd(14)}${says}`);
}

/** Returns the reason why a function throws; null if it does not. */
function reasonOf(work) {
  try {
    work();
    return null;
  } catch (error) {
    return error.code ?? error.message;
  }
}

function portIsFree(port) {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** Returns the host of a setting's first URL and the error of a connection attempt; undefined if the setting is not set. */
async function reached(setting, defaultPort) {
  if (!env[setting]) return undefined;
  try {
    const [first] = env[setting].split(',');
    const { hostname, port } = new URL(first.includes('://') ? first : `any://${first}`);
    const host = `${hostname}:${port || defaultPort}`;
    return { host, error: await connectionError(hostname.replace(/^\[|\]$/g, ''), Number(port || defaultPort)) };
  } catch {
    return { host: null, error: 'not a URL' };
  }
}

function connectionError(host, port) {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: waitMs });
    const done = (error) => {
      socket.destroy();
      resolve(error);
    };
    socket.on('connect', () => done(null));
    socket.on('timeout', () => done(`no connection within ${waitMs / 1_000} s`));
    socket.on('error', ({ code, message }) => done(code ?? message));
  });
}

/** Returns the MB of memory that programs may take, within a container's limit. */
function availableMb() {
  const found = /^MemAvailable: +(\d+) kB$/m.exec(
    existsSync('/proc/meminfo') ? readFileSync('/proc/meminfo', 'utf8') : '',
  );
  const bytes = found ? Number(found[1]) * 1_024 : freemem();
  const limit = process.constrainedMemory?.() || bytes;
  return Math.floor(Math.min(bytes, limit) / 1e6);
}

/** Returns why npm, with its settings and proxies, cannot use its registry; null if it can. */
function registryError() {
  const { status, error, stderr } = spawnSync(
    'npm',
    ['view', 'postgres', 'version', '--fetch-retries=0', '--loglevel=error'],
    {
      encoding: 'utf8',
      timeout: npmWaitMs,
    },
  );
  if (status === 0) return null;
  return error?.code ?? /npm (?:error|ERR!) code (\w+)/.exec(stderr)?.[1] ?? 'npm view failed';
}

/** Returns how many seconds this machine's clock is ahead of the registry's; null if the registry does not respond. */
async function clockAhead() {
  try {
    const response = await fetch(registry, { method: 'HEAD', signal: AbortSignal.timeout(waitMs) });
    const date = Date.parse(response.headers.get('date') ?? '');
    return Number.isNaN(date) ? null : (Date.now() - date) / 1_000;
  } catch {
    return null; // offline, or behind a proxy that npm knows and Node.js does not
  }
}

const facts = factsFor('runtime');
const plan = planOf(facts);
const isInstalled = !plan.refusal && !plan.installNode && plan.npm === null;
say('Machine', checks.machineCheck(plan, { host: facts.host, version: process.version }));
try {
  const { gatewayPort, adminPort } = readOptions([], env);
  for (const [variable, port] of Object.entries({ GATEWAY_PORT: gatewayPort, ADMIN_PORT: adminPort }))
    say(variable, checks.portCheck({ variable, port, isFree: await portIsFree(port), runsAs: facts.running }));
} catch (error) {
  say('Ports', { state: 'fail', says: error.message });
}
const { bavail, bsize } = statfsSync(root);
say('Disk', checks.spaceCheck({ freeMb: Math.floor((bavail * bsize) / 1e6), isInstalled }));
say('Memory', checks.memoryCheck(availableMb()));
const writeError = reasonOf(() => {
  rmSync(mkdtempSync(join(root, '.doctor-')), { recursive: true });
  if (existsSync(platform)) accessSync(platform, constants.W_OK);
});
say('Folder', checks.folderCheck(writeError));
say('PostgreSQL', checks.postgresCheck(await reached('DATABASE_URL', 5432)));
for (const [name, server, port, isNeeded] of [
  ['NATS', natsSource, 4222, true],
  ['Redis', redisSource, 6379, false],
]) {
  const found = inspectMachine(server, join(platform, 'debian'));
  if (found.docker) found.docker = spawnSync('docker', ['info'], { stdio: 'ignore', timeout: waitMs }).status === 0;
  say(name, checks.serverCheck(server, { isNeeded, url: await reached(server.setting, port), found }));
}
const error = isInstalled ? null : registryError();
const hasCache = existsSync(join(env.npm_config_cache ?? join(homedir(), '.npm'), '_cacache', 'index-v5'));
say('npm registry', checks.registryCheck({ registry, error, isNeeded: !isInstalled, hasCache }));
say('Clock', checks.clockCheck(await clockAhead(), registry));
console.log(isFit ? '\nnpm start can run here.' : '\nnpm start cannot run here: fix the failed checks first.');
process.exitCode = isFit ? 0 : 1;
