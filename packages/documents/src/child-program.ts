import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

/** A process that reads documents, with its input and output. */
export type Child = ChildProcessByStdio<Writable, Readable, null>;

const childFile = fileURLToPath(new URL('./extract-child.ts', import.meta.url));
const ownManifest = fileURLToPath(new URL('../package.json', import.meta.url));
/** The packages that parse documents. */
const parsers = ['@mozilla/readability', 'linkedom', 'mammoth', 'robots-parser', 'unpdf'];
const maxHeapMegabytes = 128;
/**
 * Of processor time, for a parser that never comes back and outlives a service that was killed: the kernel ends it. A process gets a new
 * one long before it has used so much.
 */
const maxCpuSeconds = 120;

/**
 * Starts a process that reads documents, or another program under the same bounds: it may read its own code and the packages that parse
 * documents, write no file, start no process and no thread, load no native code, and is given no environment.
 */
export function startChild(program: readonly string[] = [childFile]): Child {
  const args = [
    `--max-old-space-size=${maxHeapMegabytes}`,
    // A parser's garbage is collected before it fills what the process may hold.
    '--max-semi-space-size=4',
    '--disable-warning=ExperimentalWarning',
    '--permission',
    ...readablePaths().map((path) => `--allow-fs-read=${path}`),
    ...program,
  ];
  const bounded = existsSync('/bin/sh')
    ? ['/bin/sh', '-c', `ulimit -t ${maxCpuSeconds}; unset PWD OLDPWD SHLVL; exec "$0" "$@"`, process.execPath, ...args]
    : [process.execPath, ...args];
  const child = spawn(bounded[0]!, bounded.slice(1), { env: {}, cwd: '/', stdio: ['pipe', 'pipe', 'ignore'] });
  // One that cannot be killed any more, or handed anything, has ended.
  for (const one of [child, child.stdin, child.stdout]) one.on('error', () => undefined);
  return child;
}

let known: string[] | undefined;

/** The real paths of what the process may read. Throws where a package is not installed. */
function readablePaths(): string[] {
  known ??= [`${dirname(childFile)}/`, ownManifest, ...packageFolders(parsers, import.meta.url)];
  return known;
}

/** The folders of packages and of all that they depend on. */
function packageFolders(names: readonly string[], from: string, found = new Set<string>()): Set<string> {
  for (const name of names) {
    const manifest = findPackageJSON(name, from);
    if (!manifest) throw new Error(`the package ${name} is not installed`);
    const folder = `${dirname(realpathSync(manifest))}/`;
    if (found.has(folder)) continue;
    found.add(folder);
    const { dependencies = {} } = JSON.parse(readFileSync(manifest, 'utf8')) as { dependencies?: object };
    packageFolders(Object.keys(dependencies), manifest, found);
  }
  return found;
}
