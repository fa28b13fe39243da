import { LRUCache } from '@customer-platform/service-kit';

/** Most contacts, and most re-evaluations, per round. */
const largest = 10_000;
const smallest = 100;
/** Target time for the contacts of a round, beyond its fixed cost. Other accounts wait until the round ends. */
const roundMs = 2_000;

/** A finished round: the number of contacts and the milliseconds it took. */
interface Round {
  contacts: number;
  tookMs: number;
}

/** Size of an account's next round, and the last round from which the cost per contact was derived. */
interface Pace {
  size: number;
  last: Round | undefined;
}

const paces = new LRUCache<string, Pace>({ max: 10_000 });
const usual: Pace = { size: largest, last: undefined };

/**
 * Returns the pace after a round: as many contacts as fit into 2 s, at most four times as many. Each round has a fixed cost per audience, so the cost
 * per contact is derived from two rounds of different sizes.
 */
export function nextPace({ size, last }: Pace, round: Round): Pace {
  // A round with too few changes tells nothing, nor does one that repeats the size and duration of the last.
  if (round.contacts < size / 2) return { size, last };
  const differs = last && differByFifth(round.contacts, last.contacts);
  if (last && !differs && !differByFifth(round.tookMs, last.tookMs)) return { size, last };
  const eachMs = differs
    ? (round.tookMs - last.tookMs) / (round.contacts - last.contacts)
    : round.tookMs / Math.max(1, round.contacts);
  const fitting = eachMs > 0 ? Math.round(roundMs / eachMs) : largest;
  return { size: Math.max(smallest, Math.min(largest, size * 4, fitting)), last: round };
}

/** Returns whether two numbers differ by at least a fifth of the larger one. */
function differByFifth(one: number, other: number): boolean {
  return Math.abs(one - other) * 5 >= Math.max(one, other);
}

/**
 * Runs a round of an account. `round` gets the number of contacts it may take, and returns the number it took. Expensive rules shrink the rounds of
 * an account; a failure shrinks the next one to a tenth.
 */
export async function sizedRound(accountId: string, round: (size: number) => Promise<number>): Promise<void> {
  const pace = paces.get(accountId) ?? usual;
  const beganMs = performance.now();
  let next: Pace = { size: Math.max(smallest, Math.round(pace.size / 10)), last: undefined };
  try {
    const contacts = await round(pace.size);
    next = nextPace(pace, { contacts, tookMs: performance.now() - beganMs });
  } finally {
    if (next.size < largest || next.last) paces.set(accountId, next);
    else paces.delete(accountId);
  }
}
