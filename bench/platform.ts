import { join } from 'node:path';
import { type ProcessPlatform, startProcessPlatform } from '@customer-platform/testkit';

const running = new Set<ProcessPlatform>();

/**
 * Starts the platform as `npm start` does, with servers and data of its own that are durable. The compile cache is kept from
 * one run to the next, as it is in an installation: the first run on a machine shows more memory.
 */
export async function startPlatform(env: Record<string, string> = {}): Promise<ProcessPlatform> {
  const cache = join(import.meta.dirname, '../.platform/bench-compile-cache');
  const platform = await startProcessPlatform({ NODE_COMPILE_CACHE: cache, ...env });
  running.add(platform);
  const stop = async () => {
    if (running.delete(platform)) await platform.stop();
  };
  return { ...platform, stop };
}

/** Stops what runs, for a bench that is broken off. */
export async function stopPlatforms(): Promise<void> {
  for (const platform of running) {
    running.delete(platform);
    await platform.stop();
  }
}
