import { LRUCache } from '@customer-platform/service-kit';

/** Most contacts, and most re-evaluations, of one round. */
const largest = 10_000;
const smallest = 100;
/** Time that the contacts of a round should take, beyond what it takes for however few: other accounts wait until it is over. */
const roundMs = 2_000;

/** A round: the contacts that it took, and its time. */
interface Round {
  contacts: number;
  tookMs: number;
}

/** Size of an account's next round, and the last round that tells what contacts take. */
interface Pace {
  size: number;
  last: Round | undefined;
}

const paces = new LRUCache<string, Pace>({ max: 10_000 });
const usual: Pace = { size: largest, last: undefined };

/**
 * Returns the pace after a round: as many contacts as fit into two seconds, four times as many as before at most. What a contact takes is known from two
 * rounds of different sizes: each takes some time for every audience, however few its contacts are.
 */
export function nextPace({ size, last }: Pace, round: Round): Pace {
  // One that the changes were too few for says nothing, nor does one as long as that of the same size before.
  if (round.contacts < size / 2) return { size, last };
  const differs = last && isOther(round.contacts, last.contacts);
  if (last && !differs && !isOther(round.tookMs, last.tookMs)) return { size, last };
  const eachMs = differs
    ? (round.tookMs - last.tookMs) / (round.contacts - last.contacts)
    : round.tookMs / Math.max(1, round.contacts);
  const fitting = eachMs > 0 ? Math.round(roundMs / eachMs) : largest;
  return { size: Math.max(smallest, Math.min(largest, size * 4, fitting)), last: round };
}

/** Returns whether two numbers are a fifth apart, or more. */
function isOther(one: number, other: number): boolean {
  return Math.abs(one - other) * 5 >= Math.max(one, other);
}

/**
 * Does a round of an account's, which is told how many contacts it may take and returns how many it took. An account with many audiences of
 * rules that are dear has smaller ones, and one of a tenth after one that failed.
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
