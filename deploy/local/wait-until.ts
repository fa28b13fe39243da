import { setTimeout as sleep } from 'node:timers/promises';

/** Asks every intervalMs until the condition holds: true then, false once timeoutMs have passed. */
export async function waitUntil(
  condition: () => boolean | Promise<boolean>,
  timeoutMs: number,
  intervalMs = 50,
): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    if (await condition()) return true;
    if (performance.now() >= deadline) return false;
    await sleep(intervalMs);
  }
}
