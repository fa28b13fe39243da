// Installs the packages when package.json files or the lock changed since the last run, then builds the console and the
// documentation when their sources did. Runs on Node 20, before Node 24 is installed.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
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

/**
 * What is built when its sources changed: files and folders. Without one of them the platform still runs, and its page says what is
 * missing.
 */
const builds = [
  {
    name: 'console',
    folder: 'packages/console',
    // Its own files, those it shares with the gateway, and the packages in the lock.
    sources: [
      ...['src', 'index.html', 'package.json', 'tsconfig.json', 'vite.config.ts'].map(
        (name) => `packages/console/${name}`,
      ),
      'packages/contracts/src/operators',
      'package-lock.json',
    ],
    script: ['node_modules/vite/bin/vite.js', 'build', '--logLevel', 'error'],
  },
  {
    name: 'documentation',
    folder: 'packages/docs-site',
    // Pages, the reference, and the clients that it offers as files.
    sources: [
      ...readdirSync(join(root, 'docs'))
        .filter((name) => name.endsWith('.md'))
        .map((name) => `docs/${name}`),
      'docs/images',
      'docs/reference/openapi.json',
      ...['src', 'public', 'package.json', 'astro.config.ts', 'build.ts'].map((name) => `packages/docs-site/${name}`),
      ...['src', 'package.json', 'README.md', 'build.ts', 'tsconfig.build.json', 'tsconfig.cli.json'].map(
        (name) => `packages/client/${name}`,
      ),
      ...['src', 'pyproject.toml', 'README.md'].map((name) => `packages/client-python/${name}`),
      'package-lock.json',
    ],
    script: ['packages/docs-site/build.ts'],
  },
];

/** Returns the files among some paths and within their folders, in a stable order; tests are none. */
function filesAt(paths) {
  return paths
    .filter((path) => existsSync(join(root, path)))
    .flatMap((path) => {
      if (!statSync(join(root, path)).isDirectory()) return [path];
      return readdirSync(join(root, path), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && !entry.name.endsWith('.test.ts'))
        .map((entry) => relative(root, join(entry.parentPath, entry.name)));
    })
    .sort();
}

function build({ name, folder, sources, script: [file, ...args] }) {
  const hash = hashOf(filesAt(sources));
  const builtHashFile = join(root, folder, 'dist', '.bootstrap-hash');
  if (existsSync(builtHashFile) && readFileSync(builtHashFile, 'utf8') === hash) return;
  const ownNode = join(root, 'node_modules', '.bin', 'node');
  const result = spawnSync(existsSync(ownNode) ? ownNode : process.execPath, [join(root, file), ...args], {
    cwd: join(root, folder),
    stdio: 'inherit',
    timeout: 120_000,
  });
  if (result.status === 0) writeFileSync(builtHashFile, hash);
  else console.error(`The ${name} could not be built; its output is above. Everything else works without it.`);
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
for (const each of builds) build(each);
