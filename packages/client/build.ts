import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'vite';

/**
 * Builds the client and the command line into dist/package, and packs them. The client is compiled without Node's types, so it runs in
 * browsers too. The MCP server's third-party packages are bundled into one file with their licenses, so the package has no dependencies.
 */
const folder = import.meta.dirname;
const root = join(folder, '../..');
const target = join(folder, 'dist/package');

rmSync(join(folder, 'dist'), { recursive: true, force: true });
// The client comes last: it overwrites the files that both configurations compile.
for (const config of ['tsconfig.cli.json', 'tsconfig.build.json']) {
  execute(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', join(folder, config)]);
}
for (const file of globSync('**/*.d.ts', { cwd: target })) writeFileSync(join(target, file), withCompiledNames(file));
await bundle('cli/mcp/packages.js');
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

/** Replaces a compiled file with a bundle that includes the packages it imports. */
async function bundle(file: string): Promise<void> {
  await build({
    configFile: false,
    logLevel: 'warn',
    root: folder,
    ssr: { noExternal: true },
    build: {
      ssr: join(folder, 'src', file.replace(/\.js$/, '.ts')),
      outDir: target,
      emptyOutDir: false,
      target: 'node20',
      minify: true,
      license: { fileName: 'THIRD-PARTY-LICENSES' },
      rolldownOptions: { output: { entryFileNames: file } },
    },
  });
}

/** Returns a declaration file whose imports end in `.js`. The compiler rewrites import extensions only in code, not in declarations. */
function withCompiledNames(file: string): string {
  return readFileSync(join(target, file), 'utf8').replaceAll(/(from '\.[^']*)\.ts'/g, "$1.js'");
}

/** Returns a program's standard output. If the program fails, prints its output and exits. */
function execute(program: string, args: string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
  if (status === 0) return stdout;
  console.error(error?.message ?? `${stdout}${stderr}`);
  process.exit(1);
}
