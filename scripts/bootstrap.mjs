// Installs the packages when package.json files or the lock changed since the last run, then builds the console when its
// sources did. Runs on Node 20, before Node 24 is installed.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const hashFile = join(root, 'node_modules', '.bootstrap-hash');

function fail(message) {
  console.error(message);
  process.exit(1);
}

/** Returns the root's package.json and lock, and each workspace's package.json, in a stable order. */
function manifests() {
  const { workspaces } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const folders = workspaces.flatMap((pattern) => {
    if (!pattern.endsWith('/*')) return [pattern];
    const parent = pattern.slice(0, -2);
    return existsSync(join(root, parent)) ? readdirSync(join(root, parent)).map((name) => join(parent, name)) : [];
  });
  const files = folders.map((folder) => join(folder, 'package.json')).sort();
  return ['package.json', 'package-lock.json', ...files].filter((file) => existsSync(join(root, file)));
}

function hashOf(files) {
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${file}\0${readFileSync(join(root, file), 'utf8')}\0`);
  return hash.digest('hex');
}

function install() {
  console.log('Installing packages (npm ci); this takes half a minute to three minutes the first time.');
  const npm = process.env.npm_execpath;
  const args = ['ci', '--loglevel=error', '--include=dev', '--include=optional'];
  const result = npm?.endsWith('.js')
    ? spawnSync(process.execPath, [npm, ...args], { cwd: root, stdio: 'inherit' })
    : spawnSync('npm', args, { cwd: root, stdio: 'inherit' });
  if (result.status !== 0)
    fail(`npm ci failed${result.error ? ` (${result.error.message})` : ''}; its output is above.`);
}

const consoleFolder = join('packages', 'console');
const consoleHashFile = join(root, consoleFolder, 'dist', '.bootstrap-hash');

/** Returns what the console is built from, in a stable order: its own files, those it shares with the gateway, and the packages in the lock. */
function consoleSources() {
  const sources = [join(consoleFolder, 'src'), join('packages', 'contracts', 'src', 'operators')]
    .flatMap((folder) => readdirSync(join(root, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.test.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
  const settings = ['index.html', 'package.json', 'tsconfig.json', 'vite.config.ts'];
  return [...sources, ...settings.map((name) => join(consoleFolder, name)), 'package-lock.json'].sort();
}

/** Without the console the platform still runs, and its page says what is missing. */
function buildConsole() {
  const hash = hashOf(consoleSources());
  if (existsSync(consoleHashFile) && readFileSync(consoleHashFile, 'utf8') === hash) return;
  const ownNode = join(root, 'node_modules', '.bin', 'node');
  const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js');
  const result = spawnSync(existsSync(ownNode) ? ownNode : process.execPath, [vite, 'build', '--logLevel', 'error'], {
    cwd: join(root, consoleFolder),
    stdio: 'inherit',
    timeout: 60_000,
  });
  if (result.status === 0) writeFileSync(consoleHashFile, hash);
  else console.error('The console could not be built; its output is above. Everything else works without it.');
}

if (Number(process.versions.node.split('.')[0]) < 20) {
  fail(`Node.js 20 or newer is needed to start; this is ${process.version}. See https://nodejs.org.`);
}
const hash = hashOf(manifests());
if (!existsSync(hashFile) || readFileSync(hashFile, 'utf8') !== hash) {
  install();
  writeFileSync(hashFile, hash);
}
// Node 24 comes with the packages on Linux; elsewhere the host's own must be new enough to run TypeScript.
if (!existsSync(join(root, 'node_modules', '.bin', 'node')) && Number(process.versions.node.split('.')[0]) < 24) {
  fail(
    `No Node.js 24 package for ${process.platform}-${process.arch}: install Node.js 24 or newer (this is ${process.version}).`,
  );
}
buildConsole();
