import { setTimeout as sleep } from 'node:timers/promises';
import { atMost, type Bench } from './figures.ts';
import { pidsOf, startPlatform } from './harness.ts';
import { cpuSeconds, proportionalMebibytes } from './process-usage.ts';
import { statementsOf } from './statement-log.ts';

const idleMs = 30_000;
/** Time after which the start no longer causes any load. */
const settledMs = 45_000;

export const idleBench: Bench = {
  name: 'idle',
  summary: 'the platform while nothing is to do: one gateway, seven services, PostgreSQL, NATS and Redis',
  async measure() {
    const platform = await startPlatform();
    const pids = pidsOf(platform);
    await platform.account();
    await sleep(settledMs);
    const before = cpuSeconds(pids);
    await sleep(idleMs);
    const used = ((cpuSeconds(pids) - before) / (idleMs / 1_000)) * 100;
    const logged = await statementsOf(platform.databaseUrl, undefined, () => sleep(idleMs));
    return [
      atMost('processor time of everything, of one core', used, 0.7, '%'),
      atMost('statements a second', logged.length / (idleMs / 1_000), 5, '/s'),
      atMost('memory of everything, what processes share counted once', proportionalMebibytes(pids), 650, 'MiB'),
    ];
  },
};
