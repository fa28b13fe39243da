import { setTimeout as sleep } from 'node:timers/promises';
import { TimedOut } from '../values/with-timeout.ts';
import { isDatabaseUnavailable } from './database-errors.ts';

const retryMs = 1_000;
/** Time that a starting process waits for a database that is unavailable, before it ends and says why. */
const unavailableMs = 60_000;

/**
 * Returns what an attempt at a database resolves to that may be unavailable yet: it is repeated every second for a minute, and `say` gets
 * the number of attempts so far and the last one's error. Throws the error of the last one, or at once another error than that it is unavailable.
 */
export async function whenAvailable<Result>(
  attempt: () => Promise<Result>,
  say: (tries: number, error: unknown) => void,
): Promise<Result> {
  const deadline = performance.now() + unavailableMs;
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      const isUnavailable = error instanceof TimedOut || isDatabaseUnavailable(error);
      if (!isUnavailable || performance.now() > deadline) throw error;
      say(tries, error);
      await sleep(retryMs);
    }
  }
}
