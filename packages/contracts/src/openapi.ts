import { z } from 'zod';
import { createDocument, type ZodOpenApiOperationObject, type ZodOpenApiPathsObject } from 'zod-openapi';
import { ErrorEnvelope, errorStatus } from './core/errors.ts';
import { type EventDefinition, envelopeOf } from './core/event.ts';
import type { Operation } from './core/operation.ts';
import { events, operations } from './index.ts';

/** The API as an OpenAPI 3.1 document; what GET /v1/openapi.json answers. */
export function openApiDocument(): object {
  const paths: ZodOpenApiPathsObject = {};
  for (const operation of operations) {
    const method = operation.method.toLowerCase() as 'get';
    paths[operation.path] = { ...paths[operation.path], [method]: describe(operation) };
  }
  return createDocument({
    openapi: '3.1.1',
    info: {
      title: 'Customer Platform API',
      version: '1.0.0',
      description:
        'Appointments, customer data and webhooks behind one gateway. Every refusal is `{error: {code, message, field?}}`. Every POST, PATCH and DELETE takes an Idempotency-Key.',
    },
    servers: [{ url: '/' }],
    paths,
    webhooks: Object.fromEntries(publicEvents().map((event) => [event.kind, webhookOf(event)])),
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An API key: cp_live_… or cp_test_…' },
      },
    },
  });
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
  const header = method === 'GET' ? undefined : z.object({ 'Idempotency-Key': z.string().min(1).max(255).optional() });
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
    ...(body ? { requestBody: { content: { 'application/json': { schema: body } } } } : {}),
    responses: {
      [status]: {
        description: 'Done.',
        ...(answer ? { content: { 'application/json': { schema: answer } } } : {}),
      },
      ...refusals(operation),
    },
  } as ZodOpenApiOperationObject;
}

function refusals(operation: Operation): Record<string, unknown> {
  const codes = [
    'invalid_request',
    'key_required',
    'invalid_key',
    'scope_missing',
    ...operation.errors,
    'rate_limited',
    'service_unavailable',
  ];
  if (operation.gate) codes.push('module_off');
  const byStatus = Map.groupBy(codes as (keyof typeof errorStatus)[], (code) => errorStatus[code]);
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => [
      status,
      { description: group.join(', '), content: { 'application/json': { schema: ErrorEnvelope } } },
    ]),
  );
}

function webhookOf(event: EventDefinition): Record<string, unknown> {
  return {
    post: {
      operationId: event.kind,
      requestBody: { content: { 'application/json': { schema: envelopeOf(event.kind, event.data) } } },
      responses: { '2XX': { description: 'Taken.' } },
    },
  };
}
