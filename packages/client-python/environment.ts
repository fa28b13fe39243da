import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = import.meta.dirname;
const requirements = join(folder, 'requirements-dev.txt');
const environments = join(folder, '../../.platform/python');
const installMs = 300_000;

/** Environment variables that keep the caches of Python tools out of the source folders. */
export const cacheVariables: Record<string, string> = {
  MYPY_CACHE_DIR: join(environments, 'mypy'),
  RUFF_CACHE_DIR: join(environments, 'ruff'),
  PYTEST_ADDOPTS: '-p no:cacheprovider',
  PYTHONDONTWRITEBYTECODE: '1',
};

/**
 * Returns the Python of a virtual environment with the packages of requirements-dev.txt, created once per checkout. If it cannot be created,
 * `missing` has the reason: there is no Python 3.11 or later, or pip cannot install the packages.
 */
export function findPython(): { python: string } | { missing: string } {
  const base = ['python3.11', 'python3', 'python'].find(isRecent);
  if (!base) return { missing: 'the Python client: there is no Python 3.11 or later' };
  const hash = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 16);
  const environment = join(environments, hash);
  // A virtual environment contains its own path, so it cannot be moved into place. A file marks a complete one instead.
  const [python, mark] = [join(environment, 'bin/python'), join(environment, 'whole')];
  if (existsSync(mark)) return { python };
  rmSync(environment, { recursive: true, force: true });
  mkdirSync(environment, { recursive: true, mode: 0o700 });
  const install = ['-m', 'pip', 'install', '--quiet', '--require-hashes', '--requirement', requirements];
  const failure = failureOf(base, ['-m', 'venv', environment]) ?? failureOf(python, install);
  if (failure) return { missing: `the Python client: its packages could not be installed: ${failure}` };
  writeFileSync(mark, '');
  return { python };
}

function isRecent(program: string): boolean {
  const check = 'import sys, venv; sys.exit(sys.version_info < (3, 11))';
  return spawnSync(program, ['-c', check], { timeout: 30_000 }).status === 0;
}

function failureOf(program: string, args: readonly string[]): string | undefined {
  const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8', timeout: installMs });
  return status === 0 ? undefined : (error?.message ?? stderr.trim().split('\n').at(-1) ?? `exit code ${status}`);
}
