import type { ApiDocument } from './merged-documents.ts';

type Json = Record<string, unknown>;

interface Schema extends Json {
  $ref?: string;
  type?: unknown;
  properties?: Record<string, Schema>;
  items?: Schema;
}
interface Content {
  content?: Record<string, { schema?: Schema }>;
}
interface Described {
  operationId: string;
  requestBody?: Content;
  responses: Record<string, Content>;
}

const place = '#/components/schemas/';

/**
 * Moves inline schemas of bodies and responses to `components/schemas`, so that generated types have readable names. A body is named
 * `CreateContactBody`, a list of contacts `ContactPage`, and any other response `DeleteAgentResponse`. Mutates the document.
 * Throws an Error if a different schema has the name.
 */
export function nameContents(document: ApiDocument): void {
  const schemas: Record<string, Schema> = { ...(document.components?.schemas as Record<string, Schema>) };
  const move = (contents: Content | undefined, nameOf: (schema: Schema) => string) => {
    for (const media of Object.values(contents?.content ?? {})) {
      const { schema } = media;
      if (schema?.type !== 'object') continue;
      const name = nameOf(schema);
      const other = schemas[name];
      if (other && JSON.stringify(other) !== JSON.stringify(schema))
        throw new Error(`${name} is the name of two schemas`);
      schemas[name] = schema;
      media.schema = { $ref: `${place}${name}` };
    }
  };
  for (const methods of Object.values(document.paths ?? {})) {
    for (const { operationId, requestBody, responses } of Object.values(methods) as Described[]) {
      const name = `${operationId[0]!.toUpperCase()}${operationId.slice(1)}`;
      move(requestBody, () => `${name}Body`);
      for (const response of Object.values(responses))
        move(response, (schema) => pageNameOf(schema) ?? `${name}Response`);
    }
  }
  document.components = { ...document.components, schemas };
}

/** Returns the name of a page whose entries' schema has a name; undefined for any other schema. */
function pageNameOf({ properties = {} }: Schema): string | undefined {
  const isPage = Object.keys(properties).join() === 'data,has_more,next';
  const entry = isPage ? properties.data!.items?.$ref : undefined;
  return entry && `${entry.slice(place.length)}Page`;
}
