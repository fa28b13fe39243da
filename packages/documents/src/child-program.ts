import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

/** The child process that reads documents, with its standard input and output. */
export type Child = ChildProcessByStdio<Writable, Readable, null>;

const childFile = fileURLToPath(new URL('./extract-child.ts', import.meta.url));
const ownManifest = fileURLToPath(new URL('../package.json', import.meta.url));
/** Packages that parse documents. The child may read their files and the files of their dependencies. */
const parsers = [
  '@exodus/bytes',
  '@mozilla/readability',
  'html-encoding-sniffer',
  'linkedom',
  'mammoth',
  'pdfjs-dist',
  'robots-parser',
  'unpdf',
];
const maxHeapMegabytes = 128;
/**
 * CPU seconds after which the kernel kills the process. It stops a parser that never returns after the service itself was killed.
 * `Extractor` replaces a process long before this limit.
 */
const maxCpuSeconds = 120;

/**
 * Starts the process that reads documents, or another program under the same limits. It may read its own code and the parser packages.
 * It cannot write files, start processes or threads, or load native code. It leaves no core dump, and its environment is empty.
 */
export function startChild(program: readonly string[] = [childFile]): Child {
  const args = [
    `--max-old-space-size=${maxHeapMegabytes}`,
    // A small young generation makes V8 collect a parser's garbage before the process reaches its memory limit.
    '--max-semi-space-size=4',
    '--disable-warning=ExperimentalWarning',
    '--permission',
    ...readablePaths().map((path) => `--allow-fs-read=${path}`),
    ...program,
  ];
  const bounded = existsSync('/bin/sh')
    ? [
        '/bin/sh',
        '-c',
        `ulimit -t ${maxCpuSeconds}; ulimit -c 0; ulimit -f 0; unset PWD OLDPWD SHLVL; exec "$0" "$@"`,
        process.execPath,
        ...args,
      ]
    : [process.execPath, ...args];
  const child = spawn(bounded[0]!, bounded.slice(1), { env: {}, cwd: '/', stdio: ['pipe', 'pipe', 'ignore'] });
  // An error from a kill or a write means that the process has ended, which `exit` reports.
  for (const one of [child, child.stdin, child.stdout]) one.on('error', () => undefined);
  return child;
}

let known: string[] | undefined;

/** Returns the real paths that the child process may read. Throws if a package is not installed. */
function readablePaths(): string[] {
  known ??= [`${dirname(childFile)}/`, ownManifest, ...packageFolders(parsers, import.meta.url)];
  return known;
}

/** Returns the folders of packages and of all their dependencies. */
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
