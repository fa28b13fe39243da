import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Builds the package into dist/package and packs it: JavaScript and declarations of the client, compiled without the types of Node, so that
 * it runs in browsers too, and the command line. No bundler: its few files are imported as they are.
 */
const folder = import.meta.dirname;
const root = join(folder, '../..');
const target = join(folder, 'dist/package');

rmSync(join(folder, 'dist'), { recursive: true, force: true });
// The client comes last: what the command line imports of it is compiled for both.
for (const config of ['tsconfig.cli.json', 'tsconfig.build.json']) {
  execute(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', join(folder, config)]);
}
for (const file of globSync('**/*.d.ts', { cwd: target })) writeFileSync(join(target, file), withCompiledNames(file));
chmodSync(join(target, 'cli/main.js'), 0o755);

const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
const manifest = {
  name,
  version,
  description: 'Client and command line of the customer platform',
  license,
  type: 'module',
  sideEffects: false,
  engines: { node: '>=20.3' },
  exports: { '.': { types: './index.d.ts', default: './index.js' }, './package.json': './package.json' },
  types: './index.d.ts',
  bin: { 'customer-platform': 'cli/main.js' },
};
writeFileSync(join(target, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
cpSync(join(folder, 'README.md'), join(target, 'README.md'));
cpSync(join(root, 'LICENSE'), join(target, 'LICENSE'));
mkdirSync(join(folder, 'dist'), { recursive: true });
console.log(execute('npm', ['pack', target, '--pack-destination', join(folder, 'dist'), '--loglevel=error']).trim());

interface Manifest {
  name: string;
  version: string;
  license: string;
}

/** Returns a declaration file whose imports name what is in the package: the compiler rewrites those of code alone. */
function withCompiledNames(file: string): string {
  return readFileSync(join(target, file), 'utf8').replaceAll(/(from '\.[^']*)\.ts'/g, "$1.js'");
}

/** Returns the output of a program. Ends the build with its output if it fails. */
function execute(program: string, args: string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
  if (status === 0) return stdout;
  console.error(error?.message ?? `${stdout}${stderr}`);
  process.exit(1);
}
