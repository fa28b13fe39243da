import type { ProcessPlatform } from '@customer-platform/testkit';
import postgres from 'postgres';
import { atMost, type Bench, type Figure, told } from './figures.ts';
import { cpuOf, pidsOf, startPlatform } from './platform.ts';
import { childrensMebibytes, proportionalMebibytes, residentMebibytes, untilIdle } from './process-usage.ts';
import { statementsOf } from './statement-log.ts';

const idleMs = 30_000;
/** Time after which nothing is left of the start. */
const settledMs = 45_000;

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export const idleBench: Bench = {
  name: 'idle',
  summary: 'the platform while nothing is to do: one gateway, seven services, PostgreSQL, NATS and Redis',
  async measure() {
    const platform = await startPlatform();
    const sql = postgres(platform.databaseUrl, { max: 1, onnotice: () => undefined });
    try {
      await platform.account();
      await wait(settledMs);
      const used = await cpuWhileIdle(platform);
      const logged = await statementsOf(platform.databaseUrl, undefined, () => wait(idleMs));
      const memory = pidsOf(platform).reduce((sum, pid) => sum + proportionalMebibytes(pid), 0);
      return [
        atMost('processor time of everything, of one core', used, 0.7, '%'),
        atMost('statements a second', logged.length / (idleMs / 1_000), 5, '/s'),
        atMost('memory of everything, what processes share counted once', memory, 650, 'MiB'),
      ];
    } finally {
      await sql.end();
      await platform.stop();
    }
  },
};

/** Returns the processor time of everything, in percent of one core. */
async function cpuWhileIdle(platform: ProcessPlatform): Promise<number> {
  const pids = pidsOf(platform);
  const before = cpuOf(pids);
  await wait(idleMs);
  return ((cpuOf(pids) - before) / (idleMs / 1_000)) * 100;
}

/** Measures a platform that has been in use. */
export async function idleFigures({
  platform,
  sql,
}: {
  platform: ProcessPlatform;
  sql: postgres.Sql;
}): Promise<Figure[]> {
  await untilIdle(pidsOf(platform), 2 * idleMs);
  const used = await cpuWhileIdle(platform);
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`;
  const processes = platform.processNames.map((name) => residentMebibytes(platform.pidOf(name)!));
  const postgresPid = platform.pidOf('postgres')!;
  return [
    told('idle: processor time of everything, of one core', used, '%'),
    told('idle: connections to PostgreSQL, one process of each', row!.count),
    told(
      'idle: memory of the gateway and seven services',
      processes.reduce((sum, each) => sum + each, 0),
      'MiB',
    ),
    told(
      'idle: memory of PostgreSQL, what its processes share counted by each',
      residentMebibytes(postgresPid) + childrensMebibytes(postgresPid),
      'MiB',
    ),
  ];
}
