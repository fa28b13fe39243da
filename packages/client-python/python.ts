import { spawnSync } from 'node:child_process';
import { cacheVariables, findPython } from './environment.ts';

/** Runs a Python program with the packages of requirements-dev.txt: `node python.ts generate.py`. */
const found = findPython();
if ('missing' in found) {
  console.error(found.missing);
  process.exit(1);
}
const env = { ...process.env, ...cacheVariables };
const { status } = spawnSync(found.python, process.argv.slice(2), { cwd: import.meta.dirname, env, stdio: 'inherit' });
process.exit(status ?? 1);
