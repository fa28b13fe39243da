// Installs the packages that a command needs. `scripts/bootstrap.mjs start` installs runtime packages, `runtime` does so for commands that start no
// NATS, `tools` for commands that start no PostgreSQL either. `all` adds the packages of tests, checks and builds. `check` only rejects unsuitable
// machines, `doctor` reports all checks.
// Then provides the console and the documentation: built if their sources changed and all packages are installed, else as committed.
// Runs on Node 20, before Node 24 is installed.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { artifacts, packedManifest, root, sourcesOf, unpack } from './bootstrap/artifacts.mjs';
import {
  factsFor,
  hasOwnNode,
  hostNode,
  nodeFolder,
  nodePackage,
  nodeVersion,
  ownNode,
  readJson,
  stateFile,
} from './bootstrap/facts.mjs';
import { foldersOf, planOf } from './bootstrap/plan.mjs';

const nodeLink = join(root, 'node_modules/.bin/node');

function fail(message) {
  console.error(message);
  process.exit(1);
}

/**
 * Runs npm with its output on standard error, because another program may parse standard output. If npm fails, for example without a network, it
 * retries with its cache. The first attempt ignores the cache, because cached version lists may be older than the lock.
 */
async function npm(cwd, args) {
  const path = process.env.npm_execpath;
  const [command, first] = path?.endsWith('.js') ? [process.execPath, [path]] : ['npm', []];
  const run = async (...more) => {
    const all = [...first, ...args, '--include=optional', '--no-progress', '--no-update-notifier', ...more];
    const child = spawn(command, all, { cwd, stdio: ['inherit', 2, 'inherit'] });
    const [status] = await once(child, 'exit').catch((error) => [error.message]);
    return status;
  };
  if ((await run('--loglevel=silent', '--fetch-retries=0')) === 0) return;
  const status = await run('--loglevel=error', '--prefer-offline');
  if (status !== 0) fail(`npm ${args[0]} failed (${status}); its output is above. npm run doctor checks this machine.`);
}

async function installNode() {
  console.error(
    `Installing Node.js ${nodeVersion} in this folder (about 60 MB), because this machine's ${process.version} is too old.`,
  );
  await npm(nodeFolder, ['ci']);
  // Half of its size, and only needed to compile native code.
  for (const part of ['include', 'share']) rmSync(join(nodePackage, part), { recursive: true, force: true });
  if (!hasOwnNode())
    fail(
      `Node.js ${nodeVersion} was not installed or does not run here: install Node.js 24 or later, see https://nodejs.org`,
    );
}

async function installPackages({ command, packages }, hash) {
  const machine = { platform: process.platform, arch: process.arch, libc: 'glibc' };
  const folders = foldersOf(readJson(join(root, 'package-lock.json')).packages, packages, machine);
  const present = () => folders.filter((folder) => existsSync(join(root, folder, 'package.json'))).length;
  console.error(
    packages === 'runtime'
      ? `Installing ${folders.length} runtime packages. Tests and checks install more packages when they first run.`
      : `Installing the missing ones of ${folders.length} packages for the platform, its tests, checks and builds.`,
  );
  const { isTTY } = process.stderr;
  // On a terminal the next line overwrites this one.
  const progress = () => process.stderr.write(`  ${present()} of ${folders.length} ${isTTY ? '\r' : '\n'}`);
  const timer = setInterval(progress, isTTY ? 500 : 5_000);
  await npm(root, [...command, packages === 'all' ? '--include=dev' : '--omit=dev']);
  clearInterval(timer);
  writeFileSync(stateFile, JSON.stringify({ manifests: hash, packages }));
}

/**
 * Puts a recent Node.js into node_modules/.bin for npm's scripts, builds and examples. A script wraps our own Node.js and leaves the
 * bootstrap to npm's Node.js, because our own may be a copy from another machine that does not run here.
 */
function linkNode() {
  const fresh = `${nodeLink}.new`;
  rmSync(fresh, { force: true });
  if (hostNode >= 24 && process.execPath !== ownNode) symlinkSync(process.execPath, fresh);
  else {
    const text = `#!/bin/sh
if [ "$1" = scripts/bootstrap.mjs ] && [ -x "$npm_node_execpath" ]; then exec "$npm_node_execpath" "$@"; fi
exec "\${0%/*}/${relative(dirname(nodeLink), ownNode)}" "$@"
`;
    writeFileSync(fresh, text, { mode: 0o755 });
  }
  renameSync(fresh, nodeLink);
}

/** Builds an artifact if its sources changed and its build tools are installed, else unpacks the committed one. Reports problems. */
function bring(artifact, canBuild) {
  const { name, folder, script } = artifact;
  const builtHashFile = join(root, folder, 'dist', '.bootstrap-hash');
  const built = existsSync(builtHashFile) ? readFileSync(builtHashFile, 'utf8') : '';
  const sources = sourcesOf(artifact);
  if (built === sources) return;
  if (canBuild) {
    const [file, ...args] = script;
    const result = spawnSync(nodeLink, [join(root, file), ...args], {
      cwd: join(root, folder),
      stdio: ['inherit', 2, 'inherit'],
      timeout: 120_000,
    });
    if (result.status === 0) {
      writeFileSync(builtHashFile, sources);
      return;
    }
    console.error(`The ${name} could not be built; its output is above.`);
  }
  try {
    const packed = packedManifest()[name]?.sources;
    if (built !== packed) {
      unpack(artifact);
      writeFileSync(builtHashFile, packed);
    }
    if (packed !== sources) console.error(`The ${name} is older than its sources; npm run build rebuilds it.`);
  } catch (error) {
    console.error(`The ${name} is missing (${error.message}); everything else works without it.`);
  }
}

const kind = process.argv[2];
if (kind === 'doctor') {
  await import('./doctor.mjs');
  process.exit();
}
if (!['check', 'start', 'runtime', 'tools', 'all'].includes(kind))
  fail('the kind of installation is missing: scripts/bootstrap.mjs check|doctor|start|runtime|tools|all');
const facts = factsFor(kind);
const plan = planOf(facts);
if (plan.refusal) fail(plan.refusal);
if (kind === 'check') process.exit(0);
if (plan.installNode) await installNode();
if (plan.npm) await installPackages(plan.npm, facts.manifests);
linkNode();
const { packages } = readJson(stateFile);
for (const artifact of artifacts) bring(artifact, packages === 'all');
