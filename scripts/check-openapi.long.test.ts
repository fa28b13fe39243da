import { openApiDocument } from '@customer-platform/contracts/openapi';
import { describe, expect, it } from '@jest/globals';
import { faultsOf } from './check-openapi.ts';
import { heyApiFault } from './openapi/generators.ts';

type Json = Record<string, unknown>;

/** Returns a copy of the document, changed by `change`. */
function documentWith(change: (document: { paths: Record<string, Record<string, Json>>; components: Json }) => void) {
  const copy = structuredClone(openApiDocument()) as Parameters<typeof change>[0];
  change(copy);
  return copy;
}

const bodyOf = (operation: Json) =>
  (operation.requestBody as { content: Record<string, { schema: Json }> }).content['application/json']!;

/** Returns the descriptions of bodies below a value. */
function mediaIn(value: unknown): Json[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) =>
    key === 'content' ? Object.values(each as Record<string, Json>) : key.startsWith('example') ? [] : mediaIn(each),
  );
}

/** Returns the unnamed objects below a schema that are entries of a list or of a union. */
function namelessIn(schema: unknown): Json[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { items, anyOf = [], oneOf = [], properties = {}, additionalProperties } = schema as Record<string, object>;
  const entries = [items, ...Object.values(anyOf), ...Object.values(oneOf)] as (Json | undefined)[];
  const nameless = entries.filter((each): each is Json => each?.type === 'object' && each.properties !== undefined);
  const below = [...entries, ...Object.values(properties), additionalProperties];
  return [...nameless, ...below.flatMap(namelessIn)];
}

/** Returns the names of the schemas that a value refers to, directly or indirectly. */
function namesIn(value: unknown, schemas: Json, names = new Set<string>()): Set<string> {
  for (const [, name] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
    if (names.has(name!)) continue;
    names.add(name!);
    namesIn(schemas[name!], schemas, names);
  }
  return names;
}

/** Returns the paths of the optional fields below a schema whose descriptions name a default. */
function defaultsIn(path: string, schema: unknown): { path: string; description: string }[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { properties = {}, required = [] } = schema as { properties?: Record<string, Json>; required?: string[] };
  const own = Object.entries(properties)
    .map(([name, { description }]) => ({ name, path: `${path}.${name}`, description: String(description) }))
    .filter(({ name, description }) => description.includes(' Default: ') && !required.includes(name));
  return [...own, ...Object.values(schema).flatMap((each) => defaultsIn(path, each))];
}

/** Returns each value of a keyword `default` in schemas below a value. */
function defaultKeywordsIn(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  // Examples may have values named `default`.
  return Object.entries(value).flatMap(([key, each]) => {
    if (key === 'examples' || key === 'example') return [];
    return key === 'default' ? [each] : defaultKeywordsIn(each);
  });
}

describe('a document is rejected', () => {
  it('with a $ref that leads nowhere, and the error names the $ref', async () => {
    const broken = documentWith(({ components }) => {
      const { CreateContactBody } = components.schemas as Record<string, { properties: Json }>;
      CreateContactBody!.properties.name = { $ref: '#/$defs/Name' };
    });
    expect(await faultsOf(broken)).toEqual([
      expect.stringMatching(/^#\/components\/schemas\/CreateContactBody\/.*no-unresolved-refs/),
    ]);
  });

  it('with two operations of one id', async () => {
    const broken = documentWith(({ paths }) => {
      paths['/v1/cdp/contacts']!.get!.operationId = 'recordEvents';
    });
    expect(await faultsOf(broken)).toEqual([expect.stringContaining('(operation-operationId-unique)')]);
  });

  it("whose types do not fit a customer's program", async () => {
    const other = documentWith(({ components }) => {
      (components.schemas as Json).Channel = { type: 'string', enum: ['whatsapp', 'sms', 'email', 'pigeon'] };
    });
    expect(await faultsOf(other)).toEqual([expect.stringContaining("Unused '@ts-expect-error' directive")]);
  }, 180_000);
});

it('a client cannot be generated from a document that refers to a missing file', () => {
  const broken = documentWith(({ paths }) => {
    bodyOf(paths['/v1/cdp/contacts']!.post!).schema = { $ref: './missing.json' };
  });
  expect(heyApiFault(broken)).toContain('missing.json');
}, 180_000);

it('a program that uses a missing operation does not compile', async () => {
  const program = "import type { operations } from './api.js';\nexport type Missing = operations['noSuchOperation'];\n";
  expect(await faultsOf(openApiDocument(), program)).toEqual([expect.stringContaining('noSuchOperation')]);
}, 180_000);

describe('the document', () => {
  const document = openApiDocument() as {
    paths: Record<string, Record<string, Json>>;
    webhooks: Record<string, Record<string, Json>>;
    components: { schemas: Json; parameters: Json };
    tags: { name: string; description?: string }[];
  };
  const described = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );

  it('has an Idempotency-Key on every POST, PATCH and DELETE, and on nothing else', () => {
    expect(described.length).toBeGreaterThan(100);
    expect(document.components.parameters.IdempotencyKey).toMatchObject({ in: 'header', name: 'Idempotency-Key' });
    for (const { path, method, operation } of described) {
      const parameters = (operation.parameters ?? []) as { $ref?: string }[];
      const isKeyed = parameters.some(({ $ref }) => $ref === '#/components/parameters/IdempotencyKey');
      expect([method, path, isKeyed]).toEqual([method, path, ['post', 'patch', 'delete'].includes(method)]);
      const isReplayed = JSON.stringify(operation.responses).includes('Idempotent-Replayed');
      expect([method, path, isReplayed]).toEqual([method, path, isKeyed]);
    }
  });

  it('describes every operation beyond its summary, and every tag', () => {
    const { tags } = document;
    expect(tags.filter(({ description = '' }) => description.length < 20)).toEqual([]);
    for (const { operation } of described) {
      const { operationId, summary, description } = operation as Record<string, string>;
      const words = (text: string) => text.toLowerCase().replace(/[^a-z ]/g, '');
      expect([operationId, description, words(description ?? '') !== words(summary!)]).toEqual([
        operationId,
        expect.stringMatching(/^[A-Z`].*\.$/s),
        true,
      ]);
      expect(tags.map(({ name }) => name)).toEqual(expect.arrayContaining(operation.tags as string[]));
    }
  });

  it('has an example of every body, response, event and required parameter', () => {
    const { paths, webhooks, components } = document;
    const media = mediaIn([paths, webhooks, components]);
    expect(media.length).toBeGreaterThan(200);
    expect(media.filter((each) => each.example === undefined && each.examples === undefined)).toEqual([]);
    const parameters = [...described.flatMap(({ operation }) => operation.parameters ?? []), components.parameters]
      .flatMap((each) => ('in' in (each as Json) ? [each as Json] : Object.values(each as Json)))
      .filter((each) => (each as Json).required === true && (each as Json).in !== 'header');
    expect(parameters.length).toBeGreaterThan(20);
    expect(parameters.filter((each) => (each as Json).example === undefined)).toEqual([]);
  });

  it('says when every event is sent', () => {
    const events = Object.values(document.webhooks);
    expect(events.length).toBeGreaterThanOrEqual(40);
    for (const { post } of events) expect(post!.description).toMatch(/\.$/);
  });

  it('has the 400 of an unknown query parameter on every operation', () => {
    for (const { path, method, operation } of described)
      expect([method, path, Object.keys(operation.responses as Json)]).toEqual([
        method,
        path,
        expect.arrayContaining(['400']),
      ]);
  });

  it('has each error response once, by reference, and at most 600 kB as served', () => {
    for (const { path, method, operation } of described) {
      const refusals = Object.entries(operation.responses as Json).filter(([status]) => !status.startsWith('2'));
      expect([method, path, refusals.length > 5]).toEqual([method, path, true]);
      for (const [, refusal] of refusals)
        expect(refusal).toEqual({ $ref: expect.stringMatching(/^#\/components\/responses\//) });
    }
    expect(Buffer.byteLength(JSON.stringify(document))).toBeLessThanOrEqual(600_000);
  });

  it('has no tuples, no schema duplicated with the suffix Input or Output, and no duplicate enum', () => {
    expect(JSON.stringify(document)).not.toContain('"prefixItems"');
    const names = Object.keys(document.components.schemas);
    const twice = names.filter(
      (name) => names.includes(name.replace(/(Input|Output)$/, '')) && /(Input|Output)$/.test(name),
    );
    expect(twice).toEqual([]);
    const enums = Object.values(document.components.schemas as Record<string, Json>)
      .filter((schema) => schema.enum)
      .map((schema) => JSON.stringify(schema.enum));
    expect(enums.length).toBeGreaterThan(20);
    expect(new Set(enums).size).toBe(enums.length);
    const whole = JSON.stringify(document);
    expect(enums.filter((values) => whole.split(`"enum":${values}`).length !== 2)).toEqual([]);
  });

  it('has a name for the schema of every body and response, and of every entry of a list and of a union', () => {
    const objects = described.flatMap(({ operation }) => [
      ...mediaIn(operation.requestBody),
      ...mediaIn(operation.responses),
    ]);
    expect(objects.length).toBeGreaterThan(150);
    expect(objects.filter(({ schema }) => (schema as Json).type === 'object')).toEqual([]);
    // Generators derive names for unnamed schemas from their place: AudienceRulesConditionsItemType0.
    const unnamed = Object.entries(document.components.schemas).filter(([, schema]) => namelessIn(schema).length > 0);
    expect(unnamed).toEqual([]);
  });

  it('has no keyword default, which generators treat as always present: the description names the default', () => {
    expect(defaultKeywordsIn(document)).toEqual([]);
    const { schemas, parameters } = document.components;
    expect(defaultsIn('BookAppointmentBody', schemas.BookAppointmentBody).map(({ path }) => path)).toContain(
      'BookAppointmentBody.status',
    );
    expect(parameters.Limit).toMatchObject({ description: expect.stringContaining('Default: `50`.') });
  });

  it('has fields with a default as optional, and says if responses always have them', () => {
    const { schemas } = document.components;
    const { WorkflowBlock } = schemas as Record<string, { required: string[] }>;
    expect(WorkflowBlock!.required).toEqual(['id', 'kind']);
    const responses = described.flatMap(({ operation }) => mediaIn(operation.responses));
    const told = namesIn([responses, Object.values(document.webhooks)], schemas);
    const optional = [...told].flatMap((name) => defaultsIn(name, schemas[name]));
    expect(optional.map(({ path }) => path).sort()).toEqual([
      'ConsentCondition.op',
      'EventCondition.at_least',
      'WorkflowBlock.params',
    ]);
    for (const { path, description } of optional) {
      expect([path, description]).toEqual([path, expect.stringContaining('Always there in responses.')]);
    }
  });
});
