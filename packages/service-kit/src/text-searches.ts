import { FairPermits, PermitQueue } from './fair-permits.ts';

const waiting = { most: 200, ms: 10_000 };

/**
 * Permits of this process for looking for a part of a text in a list: five at once, one of a customer, live and sandbox together. A part that nobody's text has, or
 * one of two letters, is looked for in all of an account's rows, and has a processor of the database for itself meanwhile.
 */
export const textSearches = new PermitQueue(new FairPermits(8, 1 / 4), waiting.most, waiting.ms);
