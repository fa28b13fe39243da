import { z } from 'zod';
import { parseJson } from './text.ts';

/** A command-line flag, derived from a field of the contract. */
export interface Flag {
  /** The field's name in the contract, such as `allowed_addresses`. The flag is `--allowed-addresses`. */
  field: string;
  kind: 'text' | 'number' | 'boolean' | 'list' | 'json';
  isRequired: boolean;
  description: string;
}

interface JsonSchema extends z.core.JSONSchema.BaseSchema {
  $defs?: Record<string, JsonSchema>;
  items?: JsonSchema;
  properties?: Record<string, JsonSchema>;
}

/** Returns the flags of a body's or query's fields, in order. */
export function flagsOf(schema: z.ZodObject | undefined): Flag[] {
  if (!schema) return [];
  const whole = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
  const { properties = {}, required = [] } = whole;
  return Object.entries(properties).map(([field, property]) => {
    const named = property.$ref === undefined ? undefined : whole.$defs?.[property.$ref.replace('#/$defs/', '')];
    const described = { ...named, ...property };
    const isRequired = required.includes(field);
    return { field, kind: kindOf(described), isRequired, description: describe(described) };
  });
}

/** Returns a field's flag without the leading dashes: `allowed-addresses`. */
export function flagName(field: string): string {
  return field.replaceAll('_', '-');
}

/** Parses a flag's values. Throws an Error that names the expected type. */
export function flagValue({ field, kind }: Flag, texts: string[]): unknown {
  const text = texts.at(-1)!;
  if (kind === 'text') return text;
  if (kind === 'list') return texts.flatMap((entry) => entry.split(',')).filter((entry) => entry !== '');
  const value = parseJson(text);
  if (kind === 'json' ? value !== undefined : typeof value === kind) return value;
  throw new Error(`--${flagName(field)} must be ${kind === 'json' ? 'JSON' : `a ${kind}`}, not "${text}"`);
}

function kindOf({ type, items }: JsonSchema): Flag['kind'] {
  if (type === 'array') return items?.type === 'object' ? 'json' : 'list';
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'boolean') return 'boolean';
  return type === 'object' ? 'json' : 'text';
}

function describe(property: JsonSchema): string {
  const choices = property.enum ?? property.items?.enum;
  const shape = Object.keys(property.properties ?? {});
  const parts = [
    property.description,
    kindOf(property) === 'list' ? 'separated by commas' : undefined,
    shape.length > 0 ? `JSON with ${shape.join(', ')}` : undefined,
    choices ? `one of ${choices.join(', ')}` : undefined,
    property.examples ? `such as ${property.examples.join(', ')}` : undefined,
    property.default === undefined ? undefined : `default ${JSON.stringify(property.default)}`,
  ];
  return parts.flatMap((part) => (part === undefined ? [] : [part.replace(/\.$/, '')])).join('; ');
}
