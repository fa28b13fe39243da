import { z } from 'zod';
import {
  createDocument,
  type oas31,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathItemObject,
  type ZodOpenApiPathsObject,
} from 'zod-openapi';
import { ContactEventInput } from './cdp/contact-events.ts';
import { WrittenContact } from './cdp/resources.ts';
import { clientName } from './client-names.ts';
import { type EventDefinition, envelopeOf, eventEnvelope } from './core/event.ts';
import { type ServiceName, serviceNames } from './core/modules.ts';
import type { Deprecation, Operation } from './core/operation.ts';
import { events, operations } from './index.ts';
import { type ApiDocument, mergedDocuments } from './merged-documents.ts';
import { nameContents } from './openapi-contents.ts';
import { addExamples } from './openapi-examples.ts';
import { guides, inReferenceOrder, tags } from './openapi-guides.ts';
import { headers, headersOf, refusalsOf, takesKey } from './openapi-responses.ts';
import { simplified } from './openapi-schemas.ts';

/** Returns the API as an OpenAPI 3.1 document, the body of GET /v1/openapi.json. */
export function openApiDocument(): ApiDocument {
  return mergedDocuments(serviceNames.map((service) => ({ service, document: openApiPart(service) })));
}

/** Returns the part of the API that a service serves: its operations, its public events, and the components of both. */
export function openApiPart(service: ServiceName): ApiDocument {
  const paths: ZodOpenApiPathsObject = {};
  const own = inReferenceOrder(operations.filter((each) => each.service === service));
  for (const operation of own) {
    const method = operation.method.toLowerCase() as 'get';
    paths[operation.path] = { ...paths[operation.path], [method]: describeOperation(operation) };
  }
  const webhooks = publicEvents().filter((event) => event.service === service);
  const document = createDocument(
    {
      openapi: '3.1.1',
      info: {
        title: 'Customer Platform API',
        version: '1.0.0',
        license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
        description: guides(),
      },
      servers: [{ url: '/' }],
      tags,
      paths,
      webhooks: Object.fromEntries(webhooks.map((event) => [event.kind, webhookOf(event)])),
      components: {
        schemas: service === 'cdp' ? entrySchemas() : {},
        headers,
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', description: 'An API key: cp_live_… or cp_test_…' },
        },
      },
    },
    { override: asOneSchema },
  );
  const part = simplified({ ...document, webhooks: asRequests(document.webhooks ?? {}) });
  nameContents(part);
  addExamples(part, own);
  return part;
}

interface ObjectSchema {
  additionalProperties?: unknown;
  properties?: Record<string, unknown>;
  required?: string[];
}

/**
 * Has a schema of both a body and a response be one: responses and events may get new keys, and a field with a default, which a response
 * always has, is required in neither.
 */
function asOneSchema({ jsonSchema, io }: { jsonSchema: ObjectSchema; io: string }): void {
  if (io !== 'output') return;
  if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
  const { properties = {}, required } = jsonSchema;
  const always = required?.filter((name) => !Object.hasOwn(properties[name] as object, 'default'));
  if (always?.length === 0) delete jsonSchema.required;
  else if (always) jsonSchema.required = always;
}

/** Returns the public event kinds, each with when it is sent and the JSON Schema of its envelope. */
export function eventKinds(): { kind: string; sent: string; schema: Record<string, unknown> }[] {
  return publicEvents().map((event) => {
    const schema = z.toJSONSchema(envelopeOf(event.kind, event.data), { io: 'output', unrepresentable: 'any' });
    return { kind: event.kind, sent: event.sent ?? '', schema: schema as Record<string, unknown> };
  });
}

function publicEvents(): EventDefinition[] {
  return events.filter((event) => event.audience === 'public');
}

/**
 * Entries that are taken or refused by themselves, which no body's schema has. What a transform makes has no schema: that of a written contact is of what
 * is given.
 */
function entrySchemas() {
  const { $schema: _, ...written } = z.toJSONSchema(WrittenContact, { io: 'input' });
  return { ContactEvent: ContactEventInput, WrittenContact: written as oas31.SchemaObject };
}

const keyHeader = z.object({
  'Idempotency-Key': z
    .string()
    .min(1)
    .max(255)
    .optional()
    .meta({
      description:
        '1 to 255 printable ASCII characters, new for each change, such as a UUID. A request that is sent again with the same key, method, path and body changes nothing more and gets the first response, also a 400, 404 or 409, for 24 hours. With another body it is refused with 400 invalid_request.',
      param: { id: 'IdempotencyKey' },
    }),
});

/** Returns an operation as the document has it. Throws an Error if it ends sooner than twelve months after that was announced. */
export function describeOperation(operation: Operation): ZodOpenApiOperationObject {
  const { key, method, summary, scope, params, query, body, status, response, gate, deprecated, streams } = operation;
  const bodyType = operation.bodyType === 'multipart' ? 'multipart/form-data' : 'application/json';
  const requestParams = {
    ...(params ? { path: params } : {}),
    ...(query ? { query } : {}),
    ...(takesKey(method) ? { header: keyHeader } : {}),
    ...(operation.headers ? { header: operation.headers } : {}),
  };
  const end = deprecated ? describeEnd(key, deprecated) : undefined;
  const description = [operation.description, end?.sentence].filter(Boolean).join(' ');
  return {
    operationId: key,
    tags: [operation.path.split('/')[2]!],
    summary,
    ...(description ? { description } : {}),
    security: [{ bearer: scope ? [scope] : [] }],
    'x-scope': scope,
    'x-client-name': clientName(operation),
    ...(gate ? { 'x-module': gate } : {}),
    ...(operation.respondsWithSecret ? { 'x-responds-with-secret': true } : {}),
    ...end?.fields,
    ...(Object.keys(requestParams).length > 0 ? { requestParams } : {}),
    ...(body ? { requestBody: { required: isRequired(body), content: { [bodyType]: { schema: body } } } } : {}),
    responses: {
      [status]: {
        description: 'Success.',
        headers: { ...headersOf(status, method), ...end?.headers },
        ...(response ? { content: { 'application/json': { schema: response } } } : {}),
        ...(streams ? { content: { 'text/event-stream': { schema: { type: 'string' } } } } : {}),
      },
      ...refusalsOf(operation),
    },
  } as ZodOpenApiOperationObject;
}

const day = z.iso.date();

/** Describes the end of an operation. Throws an Error unless its days are days, twelve months or more apart. */
function describeEnd(key: string, { since, sunset, instead }: Deprecation) {
  const [from, until] = [day.parse(since), day.parse(sunset)].map((each) => new Date(each)) as [Date, Date];
  if (until.getTime() < from.setUTCFullYear(from.getUTCFullYear() + 1)) {
    throw new Error(`${key}: deprecated.sunset must be twelve months after since, ${since}, or later; it is ${sunset}`);
  }
  const header = (description: string) => ({ description, schema: { type: 'string' as const } });
  return {
    sentence: `Deprecated since ${since}; may be gone from ${sunset} on. Use \`${instead.key}\` instead.`,
    fields: { deprecated: true, 'x-deprecated-since': since, 'x-sunset': sunset, 'x-successor': instead.key },
    headers: {
      Deprecation: header('Time since which the operation is deprecated: @ and Unix seconds (RFC 9745).'),
      Sunset: header('Time from which it may be gone, as an HTTP date (RFC 8594).'),
      Link: header('Path of the operation to call instead, with rel="successor-version".'),
    },
  };
}

/** Returns whether a body is required: an empty one is invalid. */
function isRequired(body: z.ZodType): boolean {
  return !body.safeParse({}).success;
}

/** Headers of every delivery, from Standard Webhooks. */
const webhookHeaders = z.object({
  'webhook-id': z.string().meta({ description: 'Id of the event, the same on every try.', param: { id: 'WebhookId' } }),
  'webhook-sequence': z.string().meta({
    description: "The event's number in its account, by which a gap is noticed.",
    param: { id: 'WebhookSequence' },
  }),
  'webhook-timestamp': z
    .string()
    .meta({ description: 'Time of this try, in Unix seconds.', param: { id: 'WebhookTimestamp' } }),
  'webhook-signature': z.string().meta({
    description:
      '`v1,` and the base64 HMAC-SHA256 of `id.timestamp.body` keyed with the base64-decoded secret after `whsec_`; several, separated by spaces, while a rotated secret still signs.',
    param: { id: 'WebhookSignature' },
  }),
});

/** Describes an event with its envelope as a response, where zod-openapi expects what we send; `asRequests` moves it to the request. */
function webhookOf(event: EventDefinition): ZodOpenApiPathItemObject {
  const own = envelopeOf(event.kind, event.data).pick({ type: true, data: true });
  return {
    post: {
      operationId: event.kind,
      summary: `Sent for ${event.kind}`,
      ...(event.sent === undefined ? {} : { description: event.sent }),
      security: [],
      requestParams: { header: webhookHeaders },
      responses: {
        '2XX': {
          description: 'Accepted.',
          content: { 'application/json': { schema: z.intersection(eventEnvelope, own) } },
        },
      },
    },
  };
}

function asRequests(webhooks: Webhooks): object {
  return Object.fromEntries(
    Object.entries(webhooks).map(([kind, { post }]) => {
      const { content, ...taken } = post!.responses!['2XX'] as { content: object };
      return [kind, { post: { ...post, requestBody: { required: true, content }, responses: { '2XX': taken } } }];
    }),
  );
}
type Webhooks = NonNullable<ReturnType<typeof createDocument>['webhooks']>;
