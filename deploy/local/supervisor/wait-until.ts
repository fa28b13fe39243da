import { setTimeout as sleep } from 'node:timers/promises';

/** Polls every intervalMs. Returns true once the condition holds, false after timeoutMs. */
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
