import { z } from 'zod';

/**
 * Returns a list schema that validates only the first `most` entries. Zod records an issue for each invalid entry, and an AI may send any
 * number of entries.
 */
export function firstOf<List extends z.ZodType>(list: List, most: number) {
  return z.preprocess((value) => (Array.isArray(value) ? value.slice(0, most) : value), list);
}
