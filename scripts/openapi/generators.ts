import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { firstTool, type ToolResult, toolAt } from '../tool.ts';

const root = join(import.meta.dirname, '../..');
/** Folder of programs that this check installs; git ignores it. */
const installed = join(root, '.platform/generators');
const pythonClient = 'openapi-python-client==0.29.1';
const generatorVersion = '7.17.0';

/** A generator's fault, undefined if it understands the document; or why it did not run. */
export type Outcome = { name: string; fault: string | undefined } | { name: string; skipped: string };

/** Runs every generator that this machine has, or can install, on a document. */
export function runGenerators(document: object): Outcome[] {
  mkdirSync(installed, { recursive: true, mode: 0o700 });
  return withFolder((folder) => {
    const input = join(folder, 'openapi.json');
    writeFileSync(input, JSON.stringify(document));
    return [
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
    // It may end well without having written anything.
    const isWritten = generated.ok && existsSync(join(output, 'index.ts'));
    return isWritten ? compileFault(join(output, 'index.ts')) : failure('@hey-api/openapi-ts', generated);
  });
}

/** Compiles a generated program with the repository's own compiler, not with the one that generators need. */
export function compileFault(file: string): string | undefined {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const options = '--noEmit --strict --skipLibCheck --ignoreConfig --module esnext --moduleResolution bundler';
  const libraries = ['--target', 'es2024', '--lib', 'es2024,dom,dom.iterable', '--types', ''];
  const compiled = toolAt(process.execPath)([compiler, ...options.split(' '), ...libraries, file]);
  return compiled.ok ? undefined : failure('the generated types do not compile', compiled);
}

/** Calls with the path of a new folder, and removes the folder. */
export function withFolder<Result>(run: (folder: string) => Result): Result {
  const folder = mkdtempSync(join(tmpdir(), 'openapi-'));
  try {
    return run(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Generates with openapi-python-client from a virtual environment of ours, and compiles it. */
function generatePython(input: string, output: string): Outcome {
  const name = 'openapi-python-client';
  const environment = join(installed, pythonClient);
  const programs = join(environment, 'bin');
  const [client, python] = [toolAt(join(programs, name)), toolAt(join(programs, 'python3'))];
  if (!client(['--version']).ok) {
    console.log(`openapi: installing ${pythonClient}`);
    rmSync(environment, { recursive: true, force: true });
    const made = toolAt('python3')(['-m', 'venv', environment]);
    if (!made.ok || !python(['-m', 'pip', 'install', '--quiet', pythonClient]).ok)
      return { name, skipped: `${pythonClient} could not be installed with Python 3 and pip` };
  }
  const args = ['generate', '--path', input, '--output-path', output, '--meta', 'none', '--fail-on-warning'];
  const generated = client(args, { env: { PATH: `${programs}:${process.env.PATH ?? ''}` } });
  if (!generated.ok) return { name, fault: failure(name, generated) };
  const compiled = python(['-m', 'compileall', '-q', output]);
  const fault = compiled.ok ? undefined : failure(`what ${name} generates does not compile`, compiled);
  return { name, fault };
}

/** Validates with openapi-generator, from PATH or from the archive that Maven copies. */
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
