import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Tool, type ToolResult, toolAt } from '../chart/go-tools.ts';
import { findJar, findPythonClient } from './installed-generators.ts';

const root = join(import.meta.dirname, '../..');

/** Outcome of a generator: its faults in sentences, none if it understands the document, or why it did not run. */
export type Outcome = { name: string; faults: string[] } | { name: string; skipped: string };

/** Runs every generator that this machine has, or can install, on a document. */
export function runGenerators(document: object): Outcome[] {
  return within(document, (input, folder) => [
    generateWithHeyApi(input, join(folder, 'hey-api')),
    generatePython(input, join(folder, 'customer_platform_api_client')),
    validateWithOpenApiGenerator(input),
  ]);
}

/** Generates with @hey-api/openapi-ts, and compiles the result with the repository's own compiler. */
export function heyApiFaults(document: object): string[] {
  const outcome = within(document, (input, folder) => generateWithHeyApi(input, join(folder, 'hey-api')));
  return 'faults' in outcome ? outcome.faults : [];
}

function within<Result>(document: object, run: (input: string, folder: string) => Result): Result {
  const folder = mkdtempSync(join(tmpdir(), 'openapi-generators-'));
  try {
    const input = join(folder, 'openapi.json');
    writeFileSync(input, JSON.stringify(document));
    return run(input, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function generateWithHeyApi(input: string, output: string): Outcome {
  const name = '@hey-api/openapi-ts';
  const node = toolAt(process.execPath);
  const generated = node.run([join(import.meta.dirname, 'hey-api-program.ts'), input, output]);
  // It may end well without having written anything.
  const isWritten = existsSync(join(output, 'index.ts'));
  if (!generated.ok || !isWritten) return { name, faults: [failure(name, generated)] };
  const options =
    '--noEmit --strict --skipLibCheck --ignoreConfig --module esnext --moduleResolution bundler --target es2024';
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const libraries = ['--lib', 'es2024,dom,dom.iterable', '--types', ''];
  const compiled = node.run([compiler, ...options.split(' '), ...libraries, join(output, 'index.ts')], { cwd: output });
  return { name, faults: compiled.ok ? [] : [failure(`what ${name} generates does not compile`, compiled)] };
}

function generatePython(input: string, output: string): Outcome {
  const name = 'openapi-python-client';
  const found = findPythonClient(toolsFolder());
  if ('missing' in found) return { name, skipped: found.missing };
  const args = ['generate', '--path', input, '--output-path', output, '--meta', 'none', '--fail-on-warning'];
  const generated = found.client.run(args, { env: { PATH: `${found.path}:${process.env.PATH ?? ''}` } });
  if (!generated.ok) return { name, faults: [failure(name, generated)] };
  const compiled = found.python.run(['-m', 'compileall', '-q', output]);
  if (!compiled.ok) return { name, faults: [failure(`what ${name} generates does not compile`, compiled)] };
  const imported = found.python.run(['-c', importsOfQuickstart()], { cwd: join(output, '..') });
  return {
    name,
    faults: imported.ok ? [] : [failure(`docs/quickstart.md does not fit what ${name} generates`, imported)],
  };
}

/** Returns the imports of the quickstart's program in Python. */
function importsOfQuickstart(): string {
  const page = readFileSync(join(root, 'docs/quickstart.md'), 'utf8');
  const [, program] = /```python\n([\s\S]*?)```/.exec(page)!;
  return program!.match(/^from .+$/gm)!.join('\n');
}

function validateWithOpenApiGenerator(input: string): Outcome {
  const name = 'openapi-generator validate';
  const onPath = ['openapi-generator-cli', 'openapi-generator'].map(toolAt).find((tool) => tool.run(['version']).ok);
  const jar = onPath ? undefined : findJar(toolsFolder());
  if (jar !== undefined && 'missing' in jar) return { name, skipped: jar.missing };
  const tool: Tool = onPath ?? toolAt('java');
  const validated = tool.run([...(jar ? ['-jar', jar.file] : []), 'validate', '-i', input]);
  return { name, faults: validated.ok ? [] : [failure(name, validated)] };
}

/** Returns the folder of tools that the check installs, which no commit has. */
function toolsFolder(): string {
  const platform = join(root, '.platform');
  if (!existsSync(platform)) mkdirSync(platform, { mode: 0o700 });
  return join(platform, 'generators');
}

function failure(name: string, { stdout, stderr }: ToolResult): string {
  return `${name}: ${`${stdout}${stderr}`.trim().slice(-4_000)}`;
}
