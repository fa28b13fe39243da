import type { Servers } from './servers.ts';

/** Stops what `globalSetup` started. */
export default async function globalTeardown(): Promise<void> {
  await (globalThis as { testServers?: Servers }).testServers?.stop();
}
