import { z } from 'zod';

/**
 * An entry of a list in which each is taken or refused by itself: its value, or a sentence that says what is wrong with it, and the name of the field
 * of the entry that is.
 */
export type ListEntry<Value> =
  | { value: Value; fault?: never; field?: never }
  | { value?: never; fault: string; field: string | undefined };

const schemas = new WeakMap<z.ZodType, z.ZodType>();

/**
 * An entry that is taken or refused by itself: an invalid one does not refuse its list. `id` is its schema's name in the document. Zod takes
 * any value for one: what parses bodies reads each by the schema that `schemaOfEntry` returns, and hands over a `ListEntry`.
 */
export function listEntry<Schema extends z.ZodType>(schema: Schema, id: string) {
  const entry = z.unknown().meta({ override: { $ref: `#/components/schemas/${id}` } });
  schemas.set(entry, schema);
  return entry as unknown as z.ZodType<ListEntry<z.output<Schema>>, z.input<Schema>>;
}

/** Returns the schema of the entries of a list that are taken or refused by themselves; undefined where they are not. */
export function schemaOfEntry(entry: z.ZodType): z.ZodType | undefined {
  return schemas.get(entry);
}
