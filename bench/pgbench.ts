import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { LoggedStatement } from './statement-log.ts';

/** Script for pgbench and the values of its variables. */
export interface Script {
  text: string;
  variables: Record<string, string>;
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
  [first, second]: [LoggedStatement[], LoggedStatement[]],
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
    const others = second[index]?.parameters ?? [];
    return `${text.replace(/\$(\d+)/g, (_match, number: string) => {
      const value = parameters[Number(number) - 1] ?? null;
      const other = others[Number(number) - 1] ?? null;
      if (value === null) return 'null';
      const expression = other !== null && other !== value ? expressionOf(value, other, define) : undefined;
      return expression ?? define(value);
    })};`;
  });
  return { text: [...preamble, 'begin;', ...statements, 'commit;', ''].join('\n'), variables };
}

/** Runs a script with prepared statements and several clients; returns transactions per second and their number. */
export async function runPgbench(
  databaseUrl: string,
  searchPath: string,
  script: Script,
  options: { clients: number; seconds: number; variables: Record<string, string | number> },
): Promise<{ perSecond: number; transactions: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  try {
    const file = join(folder, 'transaction.sql');
    writeFileSync(file, script.text);
    const { hostname, port, username, password, pathname } = new URL(databaseUrl);
    const variables = Object.entries({ ...script.variables, ...options.variables });
    const { stdout } = await promisify(execFile)(
      'pgbench',
      [
        '--no-vacuum',
        '--protocol=prepared',
        '--file',
        file,
        `--client=${options.clients}`,
        '--jobs=2',
        `--time=${options.seconds}`,
        ...variables.map(([name, value]) => `--define=${name}=${value}`),
      ],
      {
        timeout: (options.seconds + 20) * 1_000,
        env: {
          PATH: process.env.PATH,
          PGHOST: hostname,
          PGPORT: port,
          PGUSER: username,
          PGPASSWORD: decodeURIComponent(password),
          PGDATABASE: pathname.slice(1),
          PGOPTIONS: `-c search_path=${searchPath}`,
        },
      },
    );
    const number = (pattern: RegExp) => {
      const found = pattern.exec(stdout)?.[1];
      if (found === undefined) throw new Error(`pgbench did not say ${pattern}: ${stdout}`);
      return Number(found);
    };
    return { perSecond: number(/^tps = ([\d.]+)/m), transactions: number(/actually processed: (\d+)/) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
