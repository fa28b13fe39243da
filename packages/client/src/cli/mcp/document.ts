/** A JSON Schema, or a reference to a schema of the document. */
export interface Schema {
  $ref?: string;
  properties?: Record<string, Schema>;
  [keyword: string]: unknown;
}

/** A parameter of an operation, with its reference resolved. */
export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  description?: string;
  schema: Schema;
}

interface Content {
  schema?: Schema;
  example?: unknown;
  examples?: Record<string, { value?: unknown }>;
}

/** A body of a request or a response, by its media type. */
export interface Message {
  description?: string;
  content?: Record<string, Content>;
}

/** An operation in the OpenAPI document. */
interface DocumentOperation {
  operationId: string;
  summary: string;
  description?: string;
  parameters?: (Parameter | { $ref: string })[];
  requestBody?: Message & { required?: boolean };
  responses: Record<string, Message | { $ref: string }>;
  'x-scope'?: string | null;
  'x-client-name': string;
  'x-module'?: string;
  'x-responds-with-secret'?: true;
}

/** The parts of the OpenAPI document that the server reads. */
export interface ApiDocument {
  paths: Record<string, Record<string, DocumentOperation>>;
  components: Record<string, Record<string, unknown>>;
}

/** An operation that an assistant can find. The assistant can call it unless `obstacle` has a reason. */
export interface Operation {
  /** The `operationId`, such as `bookAppointment`. */
  id: string;
  /** Name in the clients, such as `calendar.appointments.create`. */
  name: string;
  method: string;
  /** Path with placeholders, such as `/v1/cdp/contacts/{contact_id}`. */
  path: string;
  summary: string;
  description: string;
  scope: string | undefined;
  module: string | undefined;
  /** Whether it changes nothing: a GET, or a search with a body. */
  isRead: boolean;
  /** Whether the response has a key or a secret that is shown only once. */
  respondsWithSecret: boolean;
  obstacle: string | undefined;
  parameters: Parameter[];
  body: (Message & { required?: boolean }) | undefined;
  responses: Record<string, Message>;
}

/** Returns the operations in the order of the document. */
export function operationsOf(document: ApiDocument): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): Operation => {
      const scope = operation['x-scope'] ?? undefined;
      return {
        id: operation.operationId,
        name: operation['x-client-name'],
        method: method.toUpperCase(),
        path,
        summary: operation.summary,
        description: operation.description ?? '',
        scope,
        module: operation['x-module'],
        isRead: method === 'get' || scope?.endsWith(':read') === true,
        respondsWithSecret: operation['x-responds-with-secret'] === true,
        obstacle: obstacleOf(operation),
        parameters: (operation.parameters ?? []).map((parameter) => resolved<Parameter>(document, parameter)),
        body: operation.requestBody,
        responses: Object.fromEntries(
          Object.entries(operation.responses).map(([status, each]) => [status, resolved<Message>(document, each)]),
        ),
      };
    }),
  );
}

/** Returns why an assistant cannot call an operation; undefined if it can. */
function obstacleOf({ requestBody, responses }: DocumentOperation): string | undefined {
  if (requestBody?.content?.['multipart/form-data']) return 'It takes a file: send it with the client or curl.';
  const streams = Object.values(responses).some((each) => 'content' in each && each.content?.['text/event-stream']);
  return streams ? 'Its response does not end: call listEvents, or run customer-platform events tail.' : undefined;
}

/** Resolves a reference. Returns any other value unchanged. */
export function resolved<Value>(document: ApiDocument, value: Value | { $ref: string }): Value {
  const reference = (value as { $ref?: string }).$ref;
  if (reference === undefined) return value as Value;
  const [, , kind, name] = reference.split('/') as [string, string, string, string];
  return document.components[kind]![name] as Value;
}
