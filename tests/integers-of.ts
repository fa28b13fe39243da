import { z } from 'zod';

/** Returns the names of a schema's integers, including `starting_after`, a string that may be an integer. */
export function integersOf(schema: z.ZodObject | undefined): string[] {
  if (!schema) return [];
  const { properties = {} } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return Object.entries(properties).flatMap(([name, property]) =>
    name === 'starting_after' || (property as { type?: string }).type === 'integer' ? [name] : [],
  );
}
