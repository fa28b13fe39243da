/** Fields of a PATCH: those left out are undefined. */
type Given<Value> = { readonly [Name in keyof Value]?: Value[Name] | undefined };

/** Returns a copy of `before` with the given fields replaced: an undefined one stays as it was. */
export function withGiven<Value extends object>(before: Value, given: Given<NoInfer<Value>>): Value {
  return { ...before, ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) };
}

/** Returns a copy of `before` with the entries of `changes` merged in by key: null removes one. */
export function mergedByKey<Value>(
  before: Readonly<Record<string, Value>>,
  changes: Readonly<Record<string, Value | null>> = {},
): Record<string, Value> {
  const entries = Object.entries<Value | null>({ ...before, ...changes });
  return Object.fromEntries(entries.filter((entry): entry is [string, Value] => entry[1] !== null));
}
