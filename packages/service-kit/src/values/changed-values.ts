import { isDeepStrictEqual } from 'node:util';

/**
 * The former values of what a change replaced, as the `previous` of its event says them; undefined where it replaced nothing. Compares
 * what `before` has.
 */
export function changedValues<Value extends object>(before: Value, after: Value): Partial<Value> | undefined {
  const changed = Object.entries(before).filter(([name, value]) => !isSameValue(value, after[name as keyof Value]));
  return changed.length === 0 ? undefined : (Object.fromEntries(changed) as Partial<Value>);
}

/** Returns whether two values are the same as JSON, in any order of their keys. */
export function isSameValue(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other) || isDeepStrictEqual(one, other);
}
