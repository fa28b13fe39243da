import type { AuditEntry } from '@customer-platform/contracts/accounts';

/** A field that an operator changed; one that was only added or removed has one value. */
export interface Change {
  name: string;
  from: string | undefined;
  to: string | undefined;
}

/** Text of a value that is absent. */
const nothing = 'none';
/** Characters of a value that a line shows at most. */
const maxChars = 80;
/** Objects within objects whose fields are told apart; what is deeper is shown as JSON. */
const maxDepth = 3;

/** Returns the fields that differ, reasons first, without what the entry says elsewhere: its account and its reason. */
export function changesOf(entry: Pick<AuditEntry, 'account' | 'reason' | 'before' | 'after'>): Change[] {
  const { account, reason, before, after } = entry;
  const [was, is] = [fieldsOf(before), fieldsOf(after)];
  // What was there before and is not named after is what the change was made to, not the change.
  const isOnlyBefore = after === null;
  return [...new Set(after ? is.keys() : was.keys())]
    .filter((name) => name !== 'reason' || is.get(name) !== reason)
    .map((name) => ({ name, from: was.get(name), to: is.get(name) }))
    .filter(({ from = nothing, to = nothing }) => (isOnlyBefore ? from !== nothing : from !== to && to !== account))
    .toSorted((one, other) => Number(other.name === 'reason') - Number(one.name === 'reason'));
}

/** Returns the fields of an object as texts, those of objects in it by their path. */
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
