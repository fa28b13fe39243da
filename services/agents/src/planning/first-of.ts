import { z } from 'zod';

/**
 * Returns the schema of a list of which the first `most` entries are looked at: of a list each entry that is wrong is noted, and an AI may send any
 * number of them.
 */
export function firstOf<List extends z.ZodType>(list: List, most: number) {
  return z.preprocess((value) => (Array.isArray(value) ? value.slice(0, most) : value), list);
}
