/** Stops the servers that `globalSetup` started, and deletes their data. */
export default async function globalTeardown(): Promise<void> {
  await (globalThis as { stopTestServers?: () => Promise<void> }).stopTestServers?.();
}
