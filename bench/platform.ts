import { join } from 'node:path';
import { type ProcessEnv, type ProcessPlatform, startProcessPlatform } from '@customer-platform/testkit';
import { cpuSecondsWithChildren } from './process-usage.ts';

const servers = ['postgres', 'nats', 'redis'] as const;
const running = new Set<ProcessPlatform>();

/**
 * Starts the platform like `npm start`, with servers and durable data of its own, but without telemetry: `npm start` records every trace,
 * which costs about a quarter of the throughput. The compile cache is kept between runs, as in an installation: the first run on a
 * machine shows more memory.
 */
export async function startPlatform(env: ProcessEnv = {}): Promise<ProcessPlatform> {
  const cache = join(import.meta.dirname, '../.platform/bench-compile-cache');
  const common = { NODE_COMPILE_CACHE: cache, OTEL_SDK_DISABLED: 'true' };
  const own = typeof env === 'function' ? env : () => env;
  const platform = await startProcessPlatform((name) => ({ ...common, ...own(name) }));
  running.add(platform);
  const stop = async () => {
    if (running.delete(platform)) await platform.stop();
  };
  return { ...platform, stop };
}

/** Stops all started platforms, for an interrupted bench. */
export async function stopPlatforms(): Promise<void> {
  for (const platform of running) {
    running.delete(platform);
    await platform.stop();
  }
}

/** Returns the process ids of a platform: gateway, services and servers. */
export const pidsOf = (platform: ProcessPlatform): number[] =>
  [...platform.processNames, ...servers].map((name) => platform.pidOf(name)!);

/** Returns the CPU time of processes with their children so far, in seconds. */
export const cpuOf = (pids: readonly number[]): number =>
  pids.reduce((sum, pid) => sum + cpuSecondsWithChildren(pid), 0);
