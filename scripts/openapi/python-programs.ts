import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { firstTool, type Tool, toolAt } from '../tool.ts';

/** Programs from Python packages. */
export interface PythonPrograms {
  python: Tool;
  /** Returns the program of that name from one of the packages. */
  program(name: string): Tool;
  /** Folder of the programs, for the PATH of a program that starts another. */
  folder: string;
}

/** Folder for programs that checks install. git ignores it. */
export const installed = join(import.meta.dirname, '../../.platform/generators');

/**
 * Returns the programs of packages such as `mypy==2.4.1`, from an environment that is created once per checkout. `skipped` says why this machine
 * cannot run them: Python 3.11 or later is missing, or pip cannot install them.
 */
export function pythonPrograms(packages: readonly [string, ...string[]]): PythonPrograms | { skipped: string } {
  const base = firstTool(
    ['python3.11', 'python3', 'python'],
    '-c',
    'import sys, venv; sys.exit(sys.version_info < (3, 11))',
  );
  if (!base) return { skipped: 'Python 3.11 or later is not installed' };
  const environment = join(installed, packages.join('+'));
  const folder = join(environment, 'bin');
  const [python, mark] = [toolAt(join(folder, 'python3')), join(environment, 'whole')];
  const found = { python, program: (name: string) => toolAt(join(folder, name)), folder };
  if (existsSync(mark)) return found;
  console.log(`openapi: installing ${packages.join(', ')}`);
  rmSync(environment, { recursive: true, force: true });
  mkdirSync(environment, { recursive: true, mode: 0o700 });
  const isDone = base(['-m', 'venv', environment]).ok && python(['-m', 'pip', 'install', '--quiet', ...packages]).ok;
  if (!isDone) return { skipped: `pip could not install ${packages.join(', ')}` };
  writeFileSync(mark, '');
  return found;
}
