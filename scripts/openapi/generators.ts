import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { firstTool, type ToolResult, toolAt } from '../tool.ts';
import { installed, pythonPrograms } from './python-programs.ts';

const root = join(import.meta.dirname, '../..');
const pythonClient = 'openapi-python-client==0.29.1';
const mypy = 'mypy==2.4.1';
const generatorVersion = '7.17.0';
const spectral = '@stoplight/spectral-cli@6.16.3';

/** Fault of a generator, undefined if it accepts the document; or the reason why it did not run. */
export type Outcome = { name: string; fault: string | undefined } | { name: string; skipped: string };

/** Runs every generator that this machine has or can install on a document. */
export function runGenerators(document: object): Outcome[] {
  mkdirSync(installed, { recursive: true, mode: 0o700 });
  return withFolder((folder) => {
    const input = join(folder, 'openapi.json');
    writeFileSync(input, JSON.stringify(document));
    return [
      lintWithSpectral(input),
      { name: '@hey-api/openapi-ts', fault: heyApiFault(document) },
      generatePython(input, join(folder, 'customer_platform_api_client')),
      validateWithOpenApiGenerator(input),
    ];
  });
}

/** Generates with @hey-api/openapi-ts and compiles the result. */
export function heyApiFault(document: object): string | undefined {
  return withFolder((folder) => {
    const [input, output] = [join(folder, 'openapi.json'), join(folder, 'hey-api')];
    writeFileSync(input, JSON.stringify(document));
    const generated = toolAt(process.execPath)([join(import.meta.dirname, 'hey-api-program.ts'), input, output]);
    // It may exit with 0 without writing anything.
    const isWritten = generated.ok && existsSync(join(output, 'index.ts'));
    return isWritten ? compileFault(join(output, 'index.ts')) : failure('@hey-api/openapi-ts', generated);
  });
}

/** Compiles a generated program with the repository's own compiler, not with the generators' version. */
export function compileFault(file: string): string | undefined {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const options = '--noEmit --strict --skipLibCheck --ignoreConfig --module esnext --moduleResolution bundler';
  const libraries = ['--target', 'es2024', '--lib', 'es2024,dom,dom.iterable', '--types', ''];
  const compiled = toolAt(process.execPath)([compiler, ...options.split(' '), ...libraries, file]);
  return compiled.ok ? undefined : failure('the generated types do not compile', compiled);
}

/** Calls `run` with the path of a new folder, then removes the folder. */
export function withFolder<Result>(run: (folder: string) => Result): Result {
  const folder = mkdtempSync(join(tmpdir(), 'openapi-'));
  try {
    return run(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Generates with openapi-python-client, runs a program that imports the result, and checks the types of both with mypy. */
function generatePython(input: string, output: string): Outcome {
  const name = 'openapi-python-client';
  const found = pythonPrograms([pythonClient, mypy]);
  if ('skipped' in found) return { name, skipped: found.skipped };
  const { python, program, folder } = found;
  const args = ['generate', '--path', input, '--output-path', output, '--meta', 'none', '--fail-on-warning'];
  const generated = program(name)(args, { env: { PATH: `${folder}:${process.env.PATH ?? ''}` } });
  if (!generated.ok) return { name, fault: failure(name, generated) };
  const using = join(import.meta.dirname, 'python-program.py');
  const env = { PYTHONPATH: join(output, '..'), MYPYPATH: join(output, '..') };
  const imported = python([using], { env });
  if (!imported.ok) return { name, fault: failure(`a program cannot import the output of ${name}`, imported) };
  const checked = program('mypy')(['--strict', '--no-error-summary', output, using], { env });
  // The generator's template for client.py passes untyped arguments to httpx, for any document.
  const faults = checked.stdout.split('\n').filter((line) => line !== '' && !/\/client\.py:\d+: /.test(line));
  const isSound = checked.ok || (checked.stderr === '' && faults.length === 0);
  return { name, fault: isSound ? undefined : failure(`mypy rejects the output of ${name}`, checked) };
}

/** Lints with Spectral's rules for OpenAPI. Warnings are not faults, because Spectral knows only OAuth scopes. */
function lintWithSpectral(input: string): Outcome {
  const name = 'spectral lint';
  const folder = join(installed, spectral.replace('/', '+'));
  const program = toolAt(join(folder, 'node_modules/.bin/spectral'));
  if (!program(['--version']).ok) {
    console.log(`openapi: installing ${spectral}`);
    const args = ['install', '--prefix', folder, '--no-save', '--ignore-scripts', '--silent', spectral];
    if (!toolAt('npm')(args).ok) return { name, skipped: `npm could not install ${spectral}` };
  }
  const rules = join(input, '../spectral.json');
  writeFileSync(rules, '{"extends":["spectral:oas"]}');
  const linted = program(['lint', '--ruleset', rules, '--fail-severity', 'error', '--display-only-failures', input]);
  return { name, fault: linted.ok ? undefined : failure(name, linted) };
}

/** Validates with openapi-generator, from PATH or from an archive that Maven downloads. */
function validateWithOpenApiGenerator(input: string): Outcome {
  const name = 'openapi-generator validate';
  const file = join(installed, `openapi-generator-cli-${generatorVersion}.jar`);
  const onPath = firstTool(['openapi-generator-cli', 'openapi-generator'], 'version');
  if (!onPath && !toolAt('java')(['-version']).ok) return { name, skipped: 'Java is not installed' };
  if (!onPath && !existsSync(file)) {
    console.log(`openapi: fetching openapi-generator ${generatorVersion}`);
    const artifact = `-Dartifact=org.openapitools:openapi-generator-cli:${generatorVersion}`;
    const copied = toolAt('mvn')(['-q', '-B', 'dependency:copy', artifact, `-DoutputDirectory=${installed}`]);
    if (!copied.ok) return { name, skipped: `openapi-generator ${generatorVersion} could not be fetched with Maven` };
  }
  const args = ['validate', '-i', input];
  const validated = onPath ? onPath(args) : toolAt('java')(['-jar', file, ...args]);
  return { name, fault: validated.ok ? undefined : failure(name, validated) };
}

function failure(name: string, { stdout, stderr }: ToolResult): string {
  return `${name}: ${`${stdout}${stderr}`.trim().slice(-4_000)}`;
}
