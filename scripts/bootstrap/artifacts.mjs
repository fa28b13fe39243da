import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const packedFolder = join(root, 'deploy/packed');
const manifestFile = join(packedFolder, 'manifest.json');

/**
 * Artifacts that are built from sources and committed by `npm run pack`. `sources` are files and folders, `packages` the folders whose
 * locked packages become part of the artifact, and `script` is the build, run in `folder`.
 */
export const artifacts = [
  {
    name: 'console',
    folder: 'packages/console',
    // Own files, and files shared with the gateway.
    sources: [
      ...['src', 'index.html', 'package.json', 'tsconfig.json', 'vite.config.ts'].map(
        (name) => `packages/console/${name}`,
      ),
      'packages/contracts/src/operators',
    ],
    packages: ['packages/console'],
    script: ['node_modules/vite/bin/vite.js', 'build', '--logLevel', 'error'],
  },
  {
    name: 'documentation',
    folder: 'packages/docs-site',
    // Pages, the reference, and the clients that the site offers as files.
    sources: [
      ...publishedPages(),
      'docs/images',
      'docs/reference/openapi.json',
      ...['src', 'public', 'package.json', 'astro.config.ts', 'build.ts'].map((name) => `packages/docs-site/${name}`),
      ...['src', 'package.json', 'README.md', 'build.ts', 'tsconfig.build.json', 'tsconfig.cli.json'].map(
        (name) => `packages/client/${name}`,
      ),
      ...['src', 'pyproject.toml', 'README.md'].map((name) => `packages/client-python/${name}`),
    ],
    packages: ['packages/docs-site', 'packages/client'],
    script: ['packages/docs-site/build.ts'],
  },
];

/** Returns the pages of docs/ that the site publishes. Other pages do not affect it. */
function publishedPages() {
  const manifest = readFileSync(join(root, 'packages/docs-site/src/manifest.ts'), 'utf8');
  return [...manifest.matchAll(/^ +file: '([\w-]{1,50}\.md)',$/gm)].map(([, file]) => `docs/${file}`);
}

/** Returns the SHA-256 of files and their names, in hex. */
export function hashOf(files) {
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${file}\0${readFileSync(join(root, file), 'utf8')}\0`);
  return hash.digest('hex');
}

/** Returns the hash of all sources of an artifact. */
export function sourcesOf({ sources, packages }) {
  return createHash('sha256')
    .update(hashOf(filesAt(sources)))
    .update(lockedFor(packages))
    .digest('hex');
}

/** Returns the files at some paths and in their folders, without tests, in a stable order. */
function filesAt(paths) {
  return paths
    .filter((path) => existsSync(join(root, path)))
    .flatMap((path) => {
      if (!statSync(join(root, path)).isDirectory()) return [path];
      return listFiles(join(root, path))
        .filter((name) => !name.endsWith('.test.ts'))
        .map((name) => join(path, name));
    })
    .sort();
}

function listFiles(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath ?? entry.path, entry.name)));
}

/** Returns the lock entries of the direct and indirect dependencies of some folders. */
function lockedFor(folders) {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const found = new Set();
  const visit = (at) => {
    if (found.has(at)) return;
    found.add(at);
    const { dependencies, devDependencies, optionalDependencies, peerDependencies } = packages[at];
    for (const name of Object.keys({
      ...dependencies,
      ...devDependencies,
      ...optionalDependencies,
      ...peerDependencies,
    })) {
      // Resolves as Node.js does: in node_modules of the folder or of a folder above it.
      for (let from = at; ; from = dirname(from)) {
        const place = join(from, 'node_modules', name);
        if (packages[place]) visit(place);
        if (packages[place] || from === '.') break;
      }
    }
  };
  for (const folder of folders) visit(folder);
  return [...found]
    .map((at) => `${at} ${packages[at].integrity ?? ''}\n`)
    .sort()
    .join('');
}

/** Returns the hash of the sources and the SHA-256 of the file for each packed artifact; empty if nothing is packed. */
export function packedManifest() {
  return existsSync(manifestFile) ? JSON.parse(readFileSync(manifestFile, 'utf8')) : {};
}

/** Writes the packed artifacts from the builds. The same build gives the same bytes. */
export function pack() {
  mkdirSync(packedFolder, { recursive: true });
  const manifest = artifacts.map((artifact) => {
    const dist = join(root, artifact.folder, 'dist');
    const names = listFiles(dist)
      .filter((name) => !name.startsWith('.'))
      .sort();
    const parts = names.flatMap((name) => {
      const bytes = readFileSync(join(dist, name));
      return [Buffer.from(`${name}\0${bytes.length}\0`), bytes];
    });
    const packed = Buffer.concat(parts);
    writeFileSync(join(packedFolder, artifact.name), packed);
    return [artifact.name, { sources: sourcesOf(artifact), sha256: sha256(packed) }];
  });
  writeFileSync(manifestFile, `${JSON.stringify(Object.fromEntries(manifest), null, 2)}\n`);
}

/** Unpacks a packed artifact to its build folder. Throws an Error if its file is missing or damaged. */
export function unpack({ name, folder }) {
  const packed = readFileSync(join(packedFolder, name));
  if (sha256(packed) !== packedManifest()[name]?.sha256)
    throw new Error(`deploy/packed/${name} is damaged: restore it with git checkout`);
  const dist = join(root, folder, 'dist');
  const fresh = `${dist}.new`;
  rmSync(fresh, { recursive: true, force: true });
  for (let at = 0; at < packed.length; ) {
    const [path, length] = [0, 0].map(() => {
      const end = packed.indexOf(0, at);
      const text = packed.toString('utf8', at, end);
      at = end + 1;
      return text;
    });
    const file = join(fresh, path);
    if (!file.startsWith(join(fresh, '/')))
      throw new Error(`deploy/packed/${name} contains a path outside its folder: ${path}`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, packed.subarray(at, at + Number(length)));
    at += Number(length);
  }
  rmSync(dist, { recursive: true, force: true });
  renameSync(fresh, dist);
}

function sha256(bytes) {
  return createHash('sha256').update(bytes).digest('hex');
}
