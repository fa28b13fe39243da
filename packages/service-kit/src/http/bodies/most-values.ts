import { z } from 'zod';
import { inputOf, maxFreeSize, maxFreeValues, mostEntries } from '../input.ts';

/** Fields of a body that its contract does not know, such as those of a newer client: none has thousands. */
const maxUnknown = 1_000;

/**
 * Returns how many values a body of this schema may have at all its levels, with those of fields that it does not know: reading JSON takes time by its
 * number of values, and a megabyte has room for half a million. Several values of the caller's shape have together no more than one may.
 */
export function mostValues(schema: z.ZodObject): number {
  return Math.min(valuesOf(schema), maxFreeValues) + maxUnknown;
}

function valuesOf(schema: z.ZodType): number {
  const type = inputOf(schema);
  if (type instanceof z.ZodObject) return 1 + sum(Object.values(type.shape as Record<string, z.ZodType>).map(valuesOf));
  if (type instanceof z.ZodArray) return 1 + (mostEntries(type) ?? maxFreeSize) * valuesOf(type.element as z.ZodType);
  if (type instanceof z.ZodRecord) return 1 + maxFreeSize * valuesOf(type.valueType as z.ZodType);
  if (type instanceof z.ZodUnion) return Math.max(...(type.options as z.ZodType[]).map(valuesOf));
  return type instanceof z.ZodUnknown ? maxFreeValues : 1;
}

const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);
