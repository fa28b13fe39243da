import { operations, type operationsByKey } from '@customer-platform/contracts';
import {
  type BodyInput,
  ErrorEnvelope,
  type Operation,
  type OperationsIn,
  type ParamsInput,
  type QueryInput,
  type ResponseOf,
} from '@customer-platform/contracts/core';

/** Address of the API and the key to it. */
export interface ClientOptions {
  baseUrl: string;
  apiKey: string;
  /** Retries after 429, 503, a broken connection or a timeout; default 2. Writes are safe to retry: they carry an Idempotency-Key. */
  retries?: number;
  /** Timeout of one request in milliseconds; default 30,000. */
  timeoutMs?: number;
  /** Called with every response, before its body is read: for logs and tests. */
  onResponse?(operation: Operation, status: number, headers: Headers): void;
}

type Required<Name extends string, Value> = Value extends undefined
  ? { [N in Name]?: undefined }
  : { [N in Name]: Value };
type Optional<Name extends string, Value> = { [N in Name]?: Value };

/** Type without required properties. */
type Empty = Record<never, never>;

/** Input of one call: path parameters, query and body of the contract. */
export type CallInput<O extends Operation> = Required<'params', ParamsInput<O>> &
  Optional<'query', QueryInput<O>> &
  (Empty extends BodyInput<O> ? Optional<'body', BodyInput<O>> : Required<'body', BodyInput<O>>) & {
    /** Default: a new one per write. */
    idempotencyKey?: string;
    signal?: AbortSignal;
  };

type Operations = OperationsIn<typeof operationsByKey>;

/** One method per operation, under its key: `client.bookAppointment({ body: { … } })`. */
export type Client = {
  readonly [Key in keyof Operations]: Empty extends CallInput<Operations[Key]>
    ? (input?: CallInput<Operations[Key]>) => Promise<ResponseOf<Operations[Key]>>
    : (input: CallInput<Operations[Key]>) => Promise<ResponseOf<Operations[Key]>>;
};

/** Error response of the API: its HTTP status, code, message, the invalid field, and the request id. */
export class PlatformError extends Error {
  readonly status: number;
  readonly code: string;
  readonly field: string | undefined;
  readonly requestId: string | undefined;

  constructor(status: number, error: ErrorEnvelope['error'], requestId: string | undefined) {
    super(error.message);
    this.name = 'PlatformError';
    this.status = status;
    this.code = error.code;
    this.field = error.field;
    this.requestId = requestId;
  }
}

/** Creates a client with a typed method per operation. They throw PlatformError for error responses, or fetch's error of the last retry. */
export function createClient(options: ClientOptions): Client {
  const methods = operations.map((operation) => {
    return [operation.key, (input: AnyInput = {}) => send(operation, input, options)] as const;
  });
  return Object.fromEntries(methods) as unknown as Client;
}

interface AnyInput {
  params?: Record<string, unknown>;
  query?: Record<string, unknown>;
  body?: unknown;
  idempotencyKey?: string;
  signal?: AbortSignal;
}

/** Iterates over all pages of a list: `for await (const contact of eachOf((page) => client.listContacts({ query: page })))`. */
export async function* eachOf<Item>(
  list: (page: { starting_after?: string }) => Promise<{ data: Item[]; next: string | null }>,
): AsyncGenerator<Item> {
  let next: string | null = null;
  do {
    const page: { data: Item[]; next: string | null } = await list(next === null ? {} : { starting_after: next });
    yield* page.data;
    next = page.next;
  } while (next !== null);
}

async function send(operation: Operation, input: AnyInput, options: ClientOptions): Promise<unknown> {
  const isWrite = operation.method !== 'GET';
  const headers: Record<string, string> = { authorization: `Bearer ${options.apiKey}` };
  if (isWrite) headers['idempotency-key'] = input.idempotencyKey ?? crypto.randomUUID();
  const body = input.body === undefined ? undefined : await encoded(operation, input.body);
  if (body) headers['content-type'] = body.type;
  const request: RequestInit = { method: operation.method, headers, ...(body ? { body: body.bytes } : {}) };
  const url = addressOf(operation, input, options.baseUrl);
  for (let retriesLeft = options.retries ?? 2; ; retriesLeft--) {
    const timeout = AbortSignal.timeout(options.timeoutMs ?? 30_000);
    const signal = input.signal ? AbortSignal.any([input.signal, timeout]) : timeout;
    const response = await fetch(url, { ...request, signal }).catch((error: unknown) => {
      if (retriesLeft <= 0 || input.signal?.aborted) throw error;
      return undefined;
    });
    const isTemporary = response === undefined || response.status === 429 || response.status === 503;
    if (isTemporary && retriesLeft > 0) {
      await response?.body?.cancel();
      await new Promise((resolve) =>
        setTimeout(resolve, Math.min(Number(response?.headers.get('retry-after') ?? 0.2), 60) * 1000),
      );
      continue;
    }
    return await read(operation, response!, options);
  }
}

/** Returns the encoded body; every attempt sends the same bytes, because an Idempotency-Key belongs to one body. */
async function encoded(operation: Operation, body: unknown): Promise<{ type: string; bytes: string | ArrayBuffer }> {
  if (operation.bodyType !== 'multipart') return { type: 'application/json', bytes: JSON.stringify(body) };
  const form = new FormData();
  for (const [name, value] of Object.entries(body as Record<string, unknown>)) {
    if (value instanceof Blob) form.append(name, value);
    else if (value !== undefined) form.append(name, String(value));
  }
  const message = new Response(form);
  return { type: message.headers.get('content-type')!, bytes: await message.arrayBuffer() };
}

async function read(operation: Operation, response: Response, options: ClientOptions): Promise<unknown> {
  options.onResponse?.(operation, response.status, response.headers);
  if (response.status === 204) return undefined;
  const text = await response.text();
  if (response.ok) return JSON.parse(text);
  const refusal = ErrorEnvelope.safeParse(parsed(text));
  const error = refusal.data?.error ?? {
    code: 'internal_error' as const,
    message: `The response was no refusal of ours: ${text.slice(0, 200)}`,
  };
  throw new PlatformError(response.status, error, response.headers.get('request-id') ?? undefined);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function addressOf(operation: Operation, input: AnyInput, baseUrl: string): string {
  const path = operation.path.replace(/\{(\w+)\}/g, (_match, name: string) =>
    encodeURIComponent(String(input.params?.[name])),
  );
  const query = Object.entries(input.query ?? {})
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
    .join('&');
  return `${baseUrl.replace(/\/$/, '')}${path}${query ? `?${query}` : ''}`;
}
