import { z } from 'zod';
import {
  createDocument,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathItemObject,
  type ZodOpenApiPathsObject,
} from 'zod-openapi';
import { ContactEventInput } from './cdp/contact-events.ts';
import { type ErrorCode, ErrorEnvelope, errorStatus } from './core/errors.ts';
import { type EventDefinition, envelopeOf } from './core/event.ts';
import type { Operation } from './core/operation.ts';
import { events, operations } from './index.ts';
import { simplified } from './openapi-schemas.ts';

/** The API as an OpenAPI 3.1 document; what GET /v1/openapi.json answers. */
export function openApiDocument(): object {
  const paths: ZodOpenApiPathsObject = {};
  for (const operation of operations) {
    const method = operation.method.toLowerCase() as 'get';
    paths[operation.path] = { ...paths[operation.path], [method]: describe(operation) };
  }
  const document = createDocument(
    {
      openapi: '3.1.1',
      info: {
        title: 'Customer Platform API',
        version: '1.0.0',
        license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
        description:
          'Appointments, AI agents, customer data, orders, pipelines, messages and webhooks behind one gateway. Every refusal is `{error: {code, message, field?}}`. Every POST, PATCH and DELETE takes an Idempotency-Key; a PUT can be repeated without. A query parameter that an operation does not have is refused with 400 invalid_request.',
      },
      servers: [{ url: '/' }],
      paths,
      webhooks: Object.fromEntries(publicEvents().map((event) => [event.kind, webhookOf(event)])),
      components: {
        schemas: { ContactEvent: ContactEventInput },
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', description: 'An API key: cp_live_… or cp_test_…' },
        },
      },
    },
    { override: openToNewKeys },
  );
  return simplified({ ...document, webhooks: asRequests(document.webhooks ?? {}) });
}

/** Answers and events may get new keys. Without this, what is also taken would be another schema where it is answered. */
function openToNewKeys({ jsonSchema, io }: { jsonSchema: { additionalProperties?: unknown }; io: string }): void {
  if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
}

/** The kinds of events that webhooks can get, each with the JSON Schema of its envelope. */
export function eventKinds(): { kind: string; schema: Record<string, unknown> }[] {
  return publicEvents().map((event) => {
    const schema = z.toJSONSchema(envelopeOf(event.kind, event.data), { io: 'output', unrepresentable: 'any' });
    return { kind: event.kind, schema: schema as Record<string, unknown> };
  });
}

function publicEvents(): EventDefinition[] {
  return events.filter((event) => event.audience === 'public');
}

function describe(operation: Operation): ZodOpenApiOperationObject {
  const { key, method, summary, description, scope, params, query, body, status, answer, gate } = operation;
  const bodyType = operation.bodyType === 'multipart' ? 'multipart/form-data' : 'application/json';
  const header = !takesKey(method) ? undefined : z.object({ 'Idempotency-Key': z.string().min(1).max(255).optional() });
  const requestParams = {
    ...(params ? { path: params } : {}),
    ...(query ? { query } : {}),
    ...(header ? { header } : {}),
  };
  return {
    operationId: key,
    tags: [operation.path.split('/')[2]!],
    summary,
    ...(description ? { description } : {}),
    security: [{ bearer: scope ? [scope] : [] }],
    'x-scope': scope,
    ...(gate ? { 'x-module': gate } : {}),
    ...(Object.keys(requestParams).length > 0 ? { requestParams } : {}),
    ...(body ? { requestBody: { required: isRequired(body), content: { [bodyType]: { schema: body } } } } : {}),
    responses: {
      [status]: {
        description: 'Done.',
        headers: headersOf(status, method),
        ...(answer ? { content: { 'application/json': { schema: answer } } } : {}),
      },
      ...refusals(operation),
    },
  } as ZodOpenApiOperationObject;
}

/** Whether an Idempotency-Key counts. A GET changes nothing, and a PUT sent again leads to the same state. */
function takesKey(method: Operation['method']): boolean {
  return method !== 'GET' && method !== 'PUT';
}

/** Whether a body cannot be left out: an empty one lacks something. */
function isRequired(body: z.ZodType): boolean {
  return !body.safeParse({}).success;
}

const sentHeaders = {
  'Request-Id': 'Names this request in our logs and traces.',
  RateLimit: "What is left of the key's rate, and the seconds until all of it is back.",
  'RateLimit-Policy': 'The burst of the key, and the seconds in which it fills.',
  'Idempotent-Replayed': 'true where this is the first answer again.',
  'Retry-After': 'Seconds to wait before the next try.',
  'WWW-Authenticate': 'Bearer',
};

function headersOf(
  status: number,
  method: Operation['method'],
): Record<string, { description: string; schema: object }> {
  const names: (keyof typeof sentHeaders)[] = ['Request-Id'];
  if (status !== 401) names.push('RateLimit', 'RateLimit-Policy');
  if (status === 401) names.push('WWW-Authenticate');
  if ([429, 503].includes(status) || (status === 409 && takesKey(method))) names.push('Retry-After');
  if (takesKey(method) && (status < 300 || [400, 404, 409].includes(status))) names.push('Idempotent-Replayed');
  return Object.fromEntries(
    names.map((name) => [name, { description: sentHeaders[name], schema: { type: 'string' } }]),
  );
}

/** Every refusal that an operation can answer: those of the key and the account, its own, and those of its inputs. */
function refusals({ method, scope, gate, body, errors }: Operation): Record<string, unknown> {
  const codes: ErrorCode[] = [
    'key_required',
    'invalid_key',
    'account_suspended',
    'plan_excludes_api',
    'address_not_allowed',
  ];
  codes.push(...errors, 'rate_limited', 'internal_error', 'service_unavailable');
  if (scope) codes.push('scope_missing');
  if (gate) codes.push('module_off');
  codes.push('invalid_request'); // an unknown query parameter, at least
  // A second request under an Idempotency-Key whose first is still running.
  if (takesKey(method)) codes.push('invalid_state');
  const byStatus = Map.groupBy([...new Set(codes)], (code) => errorStatus[code]);
  const content = { 'application/json': { schema: ErrorEnvelope } };
  const answers = [...byStatus].map(([status, group]): [number, object] => [
    status,
    { description: group.join(', '), headers: headersOf(status, method), content },
  ]);
  if (body)
    answers.push([
      413,
      { description: 'invalid_request: the body is too large', headers: headersOf(413, method), content },
    ]);
  return Object.fromEntries(answers);
}

/** What Standard Webhooks sends with every delivery. */
const webhookHeaders = z.object({
  'webhook-id': z.string().meta({ description: "The event's id, the same on every try." }),
  'webhook-timestamp': z.string().meta({ description: 'When this try was made, in unix seconds.' }),
  'webhook-signature': z.string().meta({
    description:
      '`v1,` + base64 of HMAC-SHA256 over `id.timestamp.body` with the bytes after `whsec_`; several, separated by spaces, while a rotated secret still signs.',
  }),
});

/** Its envelope stands among the responses, where zod-openapi describes what we send; `asRequests` puts it into the request. */
function webhookOf(event: EventDefinition): ZodOpenApiPathItemObject {
  return {
    post: {
      operationId: event.kind,
      summary: `Sent for ${event.kind}`,
      security: [],
      requestParams: { header: webhookHeaders },
      responses: {
        '2XX': {
          description: 'Taken.',
          content: { 'application/json': { schema: envelopeOf(event.kind, event.data) } },
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
