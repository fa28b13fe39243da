import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, globSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';
import { root } from './pages.ts';

/**
 * Builds the TypeScript client and writes its package to `client.tgz`, from which npm installs it, and to `client-<version>.tgz`, which lock
 * files can pin. Throws an Error with the build's output if the build fails.
 */
export function packClient(dist: string): void {
  const folder = join(root, 'packages/client');
  const { status, stdout, stderr, error } = spawnSync(process.execPath, [join(folder, 'build.ts')], {
    encoding: 'utf8',
    timeout: 120_000,
  });
  if (status !== 0) throw new Error(`packages/client cannot be built: ${error?.message ?? `${stdout}${stderr}`}`);
  const [archive] = globSync('dist/*.tgz', { cwd: folder });
  if (archive === undefined) throw new Error('packages/client/build.ts wrote no dist/*.tgz');
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
  for (const name of ['client', `client-${version}`]) copyFileSync(join(folder, archive), join(dist, `${name}.tgz`));
}

/**
 * Packs the sources of the Python client into `client-python.tar.gz`, from which pip builds and installs it, and into
 * `client-python-<version>.tar.gz`. The bytes are the same for the same sources. Needs no Python.
 */
export async function packPythonClient(dist: string): Promise<void> {
  const folder = join(root, 'packages/client-python');
  const project = join(folder, 'pyproject.toml');
  if (!existsSync(project)) return;
  const [, version] = /^version = "(.+)"$/m.exec(readFileSync(project, 'utf8')) ?? [];
  if (version === undefined) throw new Error('packages/client-python/pyproject.toml has no line `version = "…"`');
  const files = globSync(['pyproject.toml', 'README.md', 'LICENSE', 'src/**/*'], { cwd: folder }).sort();
  const archive = pack();
  const bytes = buffer(archive);
  for (const file of files) {
    const path = join(folder, file);
    if (!statSync(path).isFile() || /\.pyc$|\.egg-info\//.test(file)) continue;
    archive.entry({ name: `${basename(folder)}/${file}`, mtime: new Date(0) }, readFileSync(path));
  }
  archive.finalize();
  const packed = gzipSync(await bytes);
  for (const name of ['client-python', `client-python-${version}`]) writeFileSync(join(dist, `${name}.tar.gz`), packed);
}
