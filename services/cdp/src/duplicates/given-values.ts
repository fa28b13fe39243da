import type { ContactValues } from '../contacts/contacts.sql.ts';

const texts = ['external_id', 'name', 'phone', 'email'] as const;

/** Values that a merge gave its survivor: strings that it lacked, and tags and fields that it did not have. */
export interface GivenValues extends Pick<ContactValues, 'tags' | 'fields'> {
  texts: Partial<Record<(typeof texts)[number], string>>;
}

/** Returns the values that a survivor was given by a merge, from its values before and after. */
export function givenValues(before: ContactValues, after: ContactValues): GivenValues {
  const given = texts.flatMap((name) => (before[name] || !after[name] ? [] : [[name, after[name]]]));
  const tags = new Set(before.tags);
  return {
    texts: Object.fromEntries(given),
    tags: after.tags.filter((tag) => !tags.has(tag)),
    fields: Object.fromEntries(Object.entries(after.fields).filter(([name]) => !Object.hasOwn(before.fields, name))),
  };
}

/** Returns the values of a survivor without the given ones. Values changed since the merge stay. */
export function withoutGiven(now: ContactValues, given: GivenValues): ContactValues {
  const kept = <Value>(value: Value, name: (typeof texts)[number], none: Value) =>
    value !== none && value === given.texts[name] ? none : value;
  const tags = new Set(given.tags);
  const isGiven = ([name, value]: [string, unknown]) =>
    Object.hasOwn(given.fields, name) && given.fields[name] === value;
  return {
    external_id: kept(now.external_id, 'external_id', null),
    name: kept(now.name, 'name', ''),
    phone: kept(now.phone, 'phone', null),
    email: kept(now.email, 'email', null),
    tags: now.tags.filter((tag) => !tags.has(tag)),
    fields: Object.fromEntries(Object.entries(now.fields).filter((entry) => !isGiven(entry))),
  };
}
