import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Returns the released OpenAPI document, which the platform also serves at /v1/openapi.json. */
export function readDocument(): Document {
  return JSON.parse(
    readFileSync(join(import.meta.dirname, '../../../docs/reference/openapi.json'), 'utf8'),
  ) as Document;
}

/** The parts of the OpenAPI document that the site shows. */
export interface Document {
  info: { description: string };
  tags: { name: string; 'x-displayName': string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, Schema>;
    parameters: Record<string, Parameter>;
    responses: Record<string, Response>;
  };
}

export interface Operation {
  operationId: string;
  tags: [string];
  summary: string;
  description?: string;
  'x-scope'?: string;
  'x-client-name': string;
  parameters?: (Parameter | Reference)[];
  requestBody?: { content: Record<string, { schema: Schema | Reference }> };
  responses: Record<string, Response | Reference>;
}

export interface Parameter {
  in: 'path' | 'query' | 'header';
  name: string;
  required?: boolean;
  description: string;
  schema: Schema | Reference;
}

export interface Schema {
  type?: string | string[];
  format?: string;
  enum?: unknown[];
  const?: unknown;
  anyOf?: (Schema | Reference)[];
  oneOf?: (Schema | Reference)[];
  description?: string;
  properties?: Record<string, Schema | Reference>;
  required?: string[];
  items?: Schema | Reference;
}

export interface Response {
  description: string;
  content?: Record<string, { examples?: Record<string, unknown>; schema?: Schema | Reference }>;
}

export interface Reference {
  $ref: string;
}

/** Returns the target of a reference, overridden by the reference's sibling fields, or the value itself if it is not a reference. */
export function resolve<T extends object>(document: Document, value: T | Reference): T {
  if (!('$ref' in value)) return value;
  const { $ref, ...beside } = value;
  const [, , kind, name] = $ref.split('/') as [string, string, keyof Document['components'], string];
  const found = document.components[kind]?.[name] as T | undefined;
  if (found === undefined) throw new Error(`docs/reference/openapi.json: ${$ref} does not exist`);
  return { ...found, ...beside };
}
