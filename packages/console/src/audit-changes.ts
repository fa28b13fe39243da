import type { AuditEntry } from '@customer-platform/contracts/accounts';

/** A field that an operator changed. A field that was only added or removed has one value. */
export interface Change {
  name: string;
  from: string | undefined;
  to: string | undefined;
}

/** Shown for a missing value. */
const nothing = 'none';
/** A line shows at most this many characters of a value. */
const maxChars = 80;
/** Nested objects are flattened to this depth. Deeper values are shown as JSON. */
const maxDepth = 3;

/** Returns the fields that differ, the reason first. Omits the account and the reason that the entry already shows. */
export function changesOf(entry: Pick<AuditEntry, 'account' | 'reason' | 'before' | 'after'>): Change[] {
  const { account, reason, before, after } = entry;
  const [was, is] = [fieldsOf(before), fieldsOf(after)];
  // Fields that only `before` has describe the target, not the change.
  const isOnlyBefore = after === null;
  return [...new Set(after ? is.keys() : was.keys())]
    .filter((name) => name !== 'reason' || is.get(name) !== reason)
    .map((name) => ({ name, from: was.get(name), to: is.get(name) }))
    .filter(({ from = nothing, to = nothing }) => (isOnlyBefore ? from !== nothing : from !== to && to !== account))
    .toSorted((one, other) => Number(other.name === 'reason') - Number(one.name === 'reason'));
}

/** Returns an object's fields as strings, with nested fields under their path. */
function fieldsOf(value: Record<string, unknown> | null, depth = 1): Map<string, string> {
  const fields = new Map<string, string>();
  for (const [name, each] of Object.entries(value ?? {})) {
    if (typeof each === 'object' && each !== null && !Array.isArray(each) && depth < maxDepth) {
      for (const [inner, text] of fieldsOf({ ...each }, depth + 1)) fields.set(`${name}.${inner}`, text);
    } else fields.set(name, textOf(each));
  }
  return fields;
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return nothing;
  const isPlainList = Array.isArray(value) && value.every((each) => typeof each !== 'object');
  const text = typeof value === 'string' ? value : isPlainList ? value.join(', ') || nothing : JSON.stringify(value);
  return text.length > maxChars ? `${text.slice(0, maxChars - 1)}…` : text;
}
