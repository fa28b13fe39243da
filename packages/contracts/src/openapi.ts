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

/** Returns a service's part of the document: its operations, its public events, and the components of both. */
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
 * Makes a schema the same for bodies and responses, so that both share one component. Responses and events allow further keys, and a
 * field with a default is required in neither.
 */
function asOneSchema({ jsonSchema, io }: { jsonSchema: ObjectSchema; io: string }): void {
  if (io !== 'output') return;
  if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
  const { properties = {}, required } = jsonSchema;
  const always = required?.filter((name) => !Object.hasOwn(properties[name] as object, 'default'));
  if (always?.length === 0) delete jsonSchema.required;
  else if (always) jsonSchema.required = always;
}

/** Returns the public event kinds. Each says when it is sent and has the JSON Schema of its envelope. */
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
 * Schemas of list entries that are validated one by one; no body's schema includes them. A written contact is described by its input,
 * since the output of a transform has no schema.
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
        'A new value for each change, such as a UUID: 1 to 255 printable ASCII characters. For 24 hours, a request with the same key, method, path and body changes nothing and gets the first response again, including a 400, 404 or 409. The same key with another body returns 400 `invalid_request`.',
      param: { id: 'IdempotencyKey' },
    }),
});

/** Describes an operation for the document. Throws an Error if its sunset is less than twelve months after its deprecation. */
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

/** Describes an operation's deprecation. Throws an Error unless both dates are valid and at least twelve months apart. */
function describeEnd(key: string, { since, sunset, instead }: Deprecation) {
  const [from, until] = [day.parse(since), day.parse(sunset)].map((each) => new Date(each)) as [Date, Date];
  if (until.getTime() < from.setUTCFullYear(from.getUTCFullYear() + 1)) {
    throw new Error(`${key}: deprecated.sunset must be at least twelve months after since (${since}), not ${sunset}`);
  }
  const header = (description: string) => ({ description, schema: { type: 'string' as const } });
  return {
    sentence: `Deprecated since ${since}; may be removed from ${sunset} on. Use \`${instead.key}\` instead.`,
    fields: { deprecated: true, 'x-deprecated-since': since, 'x-sunset': sunset, 'x-successor': instead.key },
    headers: {
      Deprecation: header('When the operation was deprecated: `@` and Unix seconds (RFC 9745).'),
      Sunset: header('When the operation may be removed at the earliest, as an HTTP date (RFC 8594).'),
      Link: header('Path of the operation to call instead, with `rel="successor-version"`.'),
    },
  };
}

/** Returns whether a body is required, since an empty one is invalid. */
function isRequired(body: z.ZodType): boolean {
  return !body.safeParse({}).success;
}

/** Headers of every delivery; all except `webhook-sequence` follow Standard Webhooks. */
const webhookHeaders = z.object({
  'webhook-id': z.string().meta({ description: 'Id of the event, equal in all attempts.', param: { id: 'WebhookId' } }),
  'webhook-sequence': z.string().meta({
    description: "The event's number in its account: use it to order events and to detect gaps.",
    param: { id: 'WebhookSequence' },
  }),
  'webhook-timestamp': z
    .string()
    .meta({ description: 'Time of this attempt, in Unix seconds.', param: { id: 'WebhookTimestamp' } }),
  'webhook-signature': z.string().meta({
    description:
      '`v1,` and the base64 HMAC-SHA256 of `id.timestamp.body`. The HMAC key is the base64-decoded part of the secret after `whsec_`. After a rotation there are several signatures, separated by spaces, until the overlap ends.',
    param: { id: 'WebhookSignature' },
  }),
});

/** Describes an event's envelope as a response, since zod-openapi treats only responses as output; `asRequests` moves it to the request. */
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
          description: 'Confirms the delivery.',
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
