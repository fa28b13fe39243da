import { join } from 'node:path';
import { type ProcessPlatform, startProcessPlatform } from '@customer-platform/testkit';

const running = new Set<ProcessPlatform>();

/**
 * Starts the platform like `npm start`, with servers and durable data of its own, but without telemetry: `npm start` records every trace,
 * which costs about a quarter of the throughput. The compile cache is kept between runs, as in an installation: the first run on a
 * machine shows more memory.
 */
export async function startPlatform(env: Record<string, string> = {}): Promise<ProcessPlatform> {
  const cache = join(import.meta.dirname, '../.platform/bench-compile-cache');
  const platform = await startProcessPlatform({ NODE_COMPILE_CACHE: cache, OTEL_SDK_DISABLED: 'true', ...env });
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
