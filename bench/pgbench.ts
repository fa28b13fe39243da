import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { LoggedStatement } from './statement-log.ts';

/** Script for pgbench and the values of its variables. */
export interface Script {
  text: string;
  variables: Record<string, string | number>;
}

/** Returns whether pgbench is on this machine's PATH. */
export function hasPgbench(): boolean {
  return spawnSync('pgbench', ['--version']).status === 0;
}

/**
 * Returns a script of one transaction that was logged twice. Parameters that were equal both times stay constant. For the others
 * `expressionOf` returns the SQL of each run; undefined keeps them constant too.
 */
export function scriptOf(
  [first, second]: readonly [LoggedStatement[], LoggedStatement[]],
  preamble: string[],
  expressionOf: (value: string, other: string, define: (value: string) => string) => string | undefined,
): Script {
  const variables: Record<string, string> = {};
  const define = (value: string) => {
    // pgbench does not accept a variable without a value.
    if (value === '') return "''";
    const name = `v${Object.keys(variables).length}`;
    variables[name] = value;
    return `:${name}`;
  };
  const statements = first.map(({ text, parameters }, index) => {
    const sql = text.replace(/\$(\d+)/g, (_match, number: string) => {
      const place = Number(number) - 1;
      const [value, other] = [parameters[place] ?? null, second[index]?.parameters[place] ?? null];
      if (value === null) return 'null';
      const expression = other !== null && other !== value ? expressionOf(value, other, define) : undefined;
      return expression ?? define(value);
    });
    return `${sql};`;
  });
  return { text: [...preamble, 'begin;', ...statements, 'commit;', ''].join('\n'), variables };
}

/** Runs a script with prepared statements and several clients; returns transactions per second and their number. */
export async function runPgbench(
  databaseUrl: string,
  searchPath: string,
  { text, variables }: Script,
  { clients, seconds }: { clients: number; seconds: number },
): Promise<{ perSecond: number; transactions: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  try {
    const file = join(folder, 'transaction.sql');
    writeFileSync(file, text);
    const defined = Object.entries(variables).map(([name, value]) => `--define=${name}=${value}`);
    const counts = [`--client=${clients}`, '--jobs=2', `--time=${seconds}`];
    const { hostname, port, username, password, pathname } = new URL(databaseUrl);
    const env = {
      PATH: process.env.PATH,
      PGHOST: hostname,
      PGPORT: port,
      PGUSER: username,
      PGPASSWORD: decodeURIComponent(password),
      PGDATABASE: pathname.slice(1),
      PGOPTIONS: `-c search_path=${searchPath}`,
    };
    const args = ['--no-vacuum', '--protocol=prepared', `--file=${file}`, ...counts, ...defined];
    const { stdout } = await promisify(execFile)('pgbench', args, { timeout: (seconds + 20) * 1_000, env });
    const number = (pattern: RegExp) => {
      const found = pattern.exec(stdout)?.[1];
      if (found === undefined) throw new Error(`the output of pgbench does not match ${pattern}: ${stdout}`);
      return Number(found);
    };
    return { perSecond: number(/^tps = ([\d.]+)/m), transactions: number(/actually processed: (\d+)/) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
