import { z } from 'zod';

/** Returns the names of a schema's integers; `starting_after` is a text that may be one. */
export function integersOf(schema: z.ZodObject | undefined): string[] {
  if (!schema) return [];
  const { properties = {} } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return Object.entries(properties).flatMap(([name, property]) =>
    name === 'starting_after' || (property as { type?: string }).type === 'integer' ? [name] : [],
  );
}
