import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Tool, toolAt } from '../chart/go-tools.ts';

const pythonClient = 'openapi-python-client==0.29.1';
const generatorVersion = '7.17.0';

/** A program of Python, the interpreter it belongs to, and the folder of both. */
interface PythonClient {
  client: Tool;
  python: Tool;
  path: string;
}

/**
 * Returns openapi-python-client from a virtual environment in our folder, which is made where Python 3 and its packages can be had; else why it
 * is missing.
 */
export function findPythonClient(folder: string): PythonClient | { missing: string } {
  const environment = join(folder, pythonClient);
  const path = join(environment, 'bin');
  const [client, python] = [toolAt(join(path, 'openapi-python-client')), toolAt(join(path, 'python3'))];
  if (client.run(['--version']).ok) return { client, python, path };
  const system = toolAt('python3');
  if (!system.run(['--version']).ok) return { missing: 'Python 3 is not installed' };
  console.log(`openapi: installing ${pythonClient}`);
  rmSync(environment, { recursive: true, force: true });
  const made = system.run(['-m', 'venv', environment]);
  const installed = made.ok && python.run(['-m', 'pip', 'install', '--quiet', pythonClient]).ok;
  return installed ? { client, python, path } : { missing: `${pythonClient} could not be installed with pip` };
}

/** Returns the path of openapi-generator's archive in our folder, into which Maven copies it; else why it is missing. */
export function findJar(folder: string): { file: string } | { missing: string } {
  const file = join(folder, `openapi-generator-cli-${generatorVersion}.jar`);
  if (!toolAt('java').run(['-version']).ok) return { missing: 'Java is not installed' };
  if (existsSync(file)) return { file };
  const maven = toolAt('mvn');
  if (!maven.run(['--version']).ok) return { missing: 'neither openapi-generator nor Maven is installed' };
  console.log(`openapi: fetching openapi-generator ${generatorVersion}`);
  mkdirSync(dirname(file), { recursive: true });
  const artifact = `-Dartifact=org.openapitools:openapi-generator-cli:${generatorVersion}`;
  const copied = maven.run(['-q', '-B', 'dependency:copy', artifact, `-DoutputDirectory=${folder}`]);
  return copied.ok && existsSync(file)
    ? { file }
    : { missing: `openapi-generator ${generatorVersion} could not be fetched with Maven` };
}
