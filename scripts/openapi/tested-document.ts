type Json = Record<string, unknown>;

interface Document {
  paths: Record<string, Record<string, { parameters?: { $ref?: string }[]; requestBody?: { content: Content } }>>;
  components: { schemas: Record<string, Json> };
}

type Content = Record<string, { schema: Json }>;

/**
 * Returns a document adjusted for schemathesis. Optional fields of a JSON body may be null, which means absent. Operations have
 * no Idempotency-Key, because schemathesis would send its example with different bodies.
 */
export function testedDocument<Given extends object>(given: Given): Given {
  const document = structuredClone(given) as unknown as Document;
  for (const operation of Object.values(document.paths).flatMap((path) => Object.values(path))) {
    operation.parameters = operation.parameters?.filter(({ $ref }) => !$ref?.endsWith('/IdempotencyKey')) ?? [];
    const body = operation.requestBody?.content['application/json'];
    if (body) body.schema = nullable(body.schema) as Json;
  }
  // Responses keep their schemas. Bodies refer to changed copies.
  const copies = Object.entries(document.components.schemas).map(([name, schema]) => [
    `${name}Given`,
    nullable(schema),
  ]);
  Object.assign(document.components.schemas, Object.fromEntries(copies));
  return document as unknown as Given;
}

/** Returns a schema whose optional properties may be null, including those of referenced schemas. */
function nullable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(nullable);
  if (value === null || typeof value !== 'object') return value;
  const { properties = {}, required = [], ...rest } = value as { properties?: Json; required?: string[] };
  const entries = Object.entries(rest).map(([keyword, each]) => {
    if (keyword === '$ref') return [keyword, `${String(each)}Given`];
    return [keyword, ['const', 'enum', 'example', 'examples'].includes(keyword) ? each : nullable(each)];
  });
  const given = Object.entries(properties).map(([name, schema]) => {
    return [name, required.includes(name) ? nullable(schema) : { anyOf: [nullable(schema), { type: 'null' }] }];
  });
  return {
    ...Object.fromEntries(entries),
    ...(given.length > 0 ? { properties: Object.fromEntries(given), required } : {}),
  };
}
