import { z } from 'zod';

/**
 * An entry of a list whose entries are validated one by one. It has either a value, or a message about the fault and the name of the
 * entry's wrong field.
 */
export type ListEntry<Value> =
  | { value: Value; fault?: never; field?: never }
  | { value?: never; fault: string; field: string | undefined };

const schemas = new WeakMap<z.ZodType, z.ZodType>();

/**
 * An entry that is validated by itself: an invalid entry does not reject its list. `id` is the name of its schema in the document. Zod
 * accepts any value. The body parser validates each entry with the schema from `schemaOfEntry` and returns a `ListEntry`.
 */
export function listEntry<Schema extends z.ZodType>(schema: Schema, id: string) {
  const entry = z.unknown().meta({ override: { $ref: `#/components/schemas/${id}` } });
  schemas.set(entry, schema);
  return entry as unknown as z.ZodType<ListEntry<z.output<Schema>>, z.input<Schema>>;
}

/** Returns the schema of entries that are validated one by one; undefined for the entries of any other list. */
export function schemaOfEntry(entry: z.ZodType): z.ZodType | undefined {
  return schemas.get(entry);
}
