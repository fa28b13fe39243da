/** Stops what `globalSetup` started, and deletes its data. */
export default async function globalTeardown(): Promise<void> {
  await (globalThis as { stopTestServers?: () => Promise<void> }).stopTestServers?.();
}
