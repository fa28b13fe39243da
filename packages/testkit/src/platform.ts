import { type Client, createClient } from '@customer-platform/client';
import { operations } from '@customer-platform/contracts';
import { adminOperations } from '@customer-platform/contracts/accounts';
import type { Operation } from '@customer-platform/contracts/core';
import { services as allServices } from '@customer-platform/deploy/deployables';
import { type Database, openDatabase } from '@customer-platform/service-kit';
import { connect, type Msg, type NatsConnection } from '@nats-io/transport-node';
import { MovableClock } from './clock.ts';
import { type DatabaseEnv, dropDatabase, environment, startServices, type TestedService } from './environment.ts';
import { waitFor } from './wait-for.ts';

/** An unchecked response: status, headers, JSON body (undefined if none), and the exact text of the body. */
export interface RawResponse {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into responses of every shape, wrong ones too
  body: any;
  text: string;
}

/** An account of a test, with keys for all scopes. */
export interface TestAccount {
  id: string;
  sandboxId: string;
  key: string;
  testKey: string;
  /** Typed client with the live key. Validates each response against its contract. */
  client: Client;
  testClient: Client;
  /** Like `client`, but with the default retries, for tests that write very much at once. */
  retryingClient: Client;
  /** Sends any request with the live key, or with `key` (null: without a key). */
  request(method: string, path: string, options?: RequestOptions): Promise<RawResponse>;
}

export interface RequestOptions {
  body?: unknown;
  /** Body that is sent unchanged, instead of `body` as JSON. */
  rawBody?: string | Uint8Array;
  headers?: Record<string, string>;
  key?: string | null;
}

/** A platform in this process: gateway and services over real HTTP, with their own database and bus prefix. */
export interface Platform {
  gatewayUrl: string;
  adminUrl: string;
  adminToken: string;
  clock: MovableClock;
  /** Returns the environment of a service, for starting another process of it. */
  env(service: string): Record<string, string>;
  /** Returns the pool (at most 4 connections) on a service's own schema, for data that no response shows. It is closed with the platform. */
  database(service: TestedService): Database;
  /** Creates an account; `settings` as in POST /admin/accounts. */
  account(settings?: Record<string, unknown>): Promise<TestAccount>;
  /** Sends a request to the control plane. */
  admin(method: string, path: string, body?: unknown, token?: string): Promise<RawResponse>;
  /** Issues another key and returns it. */
  issueKey(accountId: string, options?: Record<string, unknown>): Promise<string>;
  /** Waits for an event of an account that `matches`, and returns its envelope. */
  // biome-ignore lint/suspicious/noExplicitAny: events of every kind
  event(accountId: string, kind: string, matches?: (data: any) => boolean): Promise<any>;
  // biome-ignore lint/suspicious/noExplicitAny: events of every kind
  events(accountId: string): any[];
  /** Stops the platform and deletes its database, unless `keepsDatabase` is set. */
  stop(options?: { keepsDatabase?: boolean }): Promise<void>;
}

interface StartedProcess {
  url: string;
  adminUrl?: string;
  stop(): Promise<void>;
}

/** Starts the gateway and the named services (default: all) in this process. `env` adds settings for every process. Call `stop` in afterAll. */
export async function startPlatform(
  options: { services?: readonly TestedService[]; env?: Record<string, string>; databaseEnv?: DatabaseEnv } = {},
): Promise<Platform> {
  const services = options.services ?? allServices.map(({ name }) => name);
  const clock = new MovableClock();
  const env = await environment(options.env ?? {}, options.databaseEnv);
  const databases = new Map<string, Database>();
  const running = await startServices(services, env, clock);
  const urls = Object.fromEntries(
    Object.entries(running.urls).map(([name, url]) => [`${name.toUpperCase()}_URL`, url]),
  );
  const { startGateway } = (await import('@customer-platform/gateway')) as {
    startGateway(
      env: NodeJS.ProcessEnv,
      options: { clock: () => Date },
    ): Promise<StartedProcess & { adminUrl: string }>;
  };
  const gateway = await startGateway({ ...env('gateway'), ...urls }, { clock: clock.now });
  const probe = await EventProbe.start(env('gateway').BUS_PREFIX!);
  const adminToken = env('gateway').ADMIN_TOKEN!;
  const admin = async (method: string, path: string, body?: unknown, key = adminToken) => {
    const response = await rawRequest(gateway.adminUrl, method, path, { body, key });
    const operation = operationAt(Object.values<Operation>(adminOperations), method, path);
    if (operation?.response && response.status === operation.status)
      assertExact(operation.response.parse(response.body), response.body, operation.key);
    return response;
  };
  const issueKey = async (accountId: string, key: Record<string, unknown> = {}) => {
    const response = await admin('POST', `/admin/accounts/${accountId}/keys`, {
      name: 'test',
      mode: 'live',
      scopes: ['*'],
      ...key,
    });
    if (response.status !== 201) throw new Error(`issuing the key failed: ${response.text}`);
    return response.body.key as string;
  };
  return {
    gatewayUrl: gateway.url,
    adminUrl: gateway.adminUrl,
    adminToken,
    clock,
    env: (service) => ({ ...env(service), ...(service === 'gateway' ? urls : {}) }),
    database(service) {
      const { DATABASE_URL, DATABASE_DIRECT_URL = DATABASE_URL } = env(service);
      const database =
        databases.get(service) ?? openDatabase(DATABASE_DIRECT_URL!, { pool: 4, service, statementMs: 60_000 });
      databases.set(service, database);
      return database;
    },
    admin,
    issueKey,
    account: (settings = {}) => makeAccount(gateway.url, admin, issueKey, settings),
    event: (accountId, kind, matches) => probe.wait(accountId, kind, matches),
    events: (accountId) => probe.of(accountId),
    async stop({ keepsDatabase = false } = {}) {
      await probe.stop();
      for (const database of databases.values()) await database.end();
      // The services first: one that still writes results asks the gateway for accounts and clocks.
      await running.stop();
      await gateway.stop();
      if (!keepsDatabase) await dropDatabase(env('gateway'));
    },
  };
}

async function makeAccount(
  gatewayUrl: string,
  admin: Platform['admin'],
  issueKey: Platform['issueKey'],
  settings: Record<string, unknown>,
): Promise<TestAccount> {
  const defaults = { name: 'Test', timezone: 'Europe/Berlin', rate_limit: { per_minute: 1_000_000, burst: 100_000 } };
  const made = await admin('POST', '/admin/accounts', { ...defaults, ...settings });
  if (made.status !== 201) throw new Error(`creating the account failed: ${made.text}`);
  const [key, testKey] = [await issueKey(made.body.id), await issueKey(made.body.id, { mode: 'test' })];
  return {
    id: made.body.id,
    sandboxId: made.body.sandbox_id,
    key,
    testKey,
    client: checkedClient(gatewayUrl, key),
    testClient: checkedClient(gatewayUrl, testKey),
    retryingClient: createClient({ baseUrl: gatewayUrl, apiKey: key }),
    request: (method, path, request = {}) => rawRequest(gatewayUrl, method, path, { key, ...request }),
  };
}

/** Returns the typed client. A call fails if its response does not match the contract exactly. */
function checkedClient(baseUrl: string, apiKey: string): Client {
  return createClient({ baseUrl, apiKey, retries: 0, fetch: checkedFetch });
}

const checkedFetch: typeof fetch = async (url, init) => {
  const response = await fetch(url, init);
  const operation = operationAt(operations, init!.method ?? 'GET', new URL(String(url)).pathname);
  if (response.ok && operation?.response) {
    const body: unknown = await response.clone().json();
    assertExact(operation.response.parse(body), body, operation.key);
  }
  return response;
};

/** Returns the operation of a request. If several match, returns the one with the fewest parameters. */
function operationAt(all: readonly Operation[], method: string, path: string): Operation | undefined {
  const parts = path.split('?', 1)[0]!.split('/');
  const fits = (operation: Operation) => {
    const template = operation.path.split('/');
    const isHere =
      template.length === parts.length && template.every((part, at) => part === parts[at] || part[0] === '{');
    return operation.method === method && isHere;
  };
  const parameters = (operation: Operation) => operation.path.split('{').length;
  return all.filter(fits).toSorted((one, other) => parameters(one) - parameters(other))[0];
}

function assertExact(expected: unknown, given: unknown, path: string): void {
  if (typeof given !== 'object' || given === null) return;
  for (const [name, value] of Object.entries(given)) {
    const known = (expected as Record<string, unknown>)[name];
    if (known === undefined) throw new Error(`the response has ${path}.${name}, which is not in its contract`);
    assertExact(known, value, `${path}.${name}`);
  }
}

/** Sends one request exactly as given, and returns the whole response. */
export async function rawRequest(
  baseUrl: string,
  method: string,
  path: string,
  options: RequestOptions = {},
): Promise<RawResponse> {
  const headers: Record<string, string> = {};
  if (options.key) headers.authorization = `Bearer ${options.key}`;
  const body = options.rawBody ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
  if (body !== undefined) headers['content-type'] = 'application/json';
  const response = await fetch(baseUrl + path, {
    method,
    headers: { ...headers, ...options.headers },
    redirect: 'manual',
    ...(body === undefined ? {} : { body: body as string }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') && text !== '';
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined };
}

/** Collects all events of a platform from the bus. */
class EventProbe {
  readonly #connection: NatsConnection;
  // biome-ignore lint/suspicious/noExplicitAny: events of every kind
  readonly #events: any[] = [];

  private constructor(connection: NatsConnection, prefix: string) {
    this.#connection = connection;
    connection.subscribe(`${prefix}.event.>`, {
      callback: (_error, message) => {
        const event = eventOf(message);
        if (event) this.#events.push(event);
      },
    });
  }

  static async start(prefix: string): Promise<EventProbe> {
    const connection = await connect({ servers: process.env.TEST_NATS_URL! });
    const probe = new EventProbe(connection, prefix);
    await connection.flush();
    return probe;
  }

  of(accountId: string) {
    return this.#events.filter((event) => event.account === accountId);
  }

  async wait(accountId: string, kind: string, matches: (data: never) => boolean = () => true) {
    return await waitFor(`the event ${kind}`, () =>
      this.of(accountId).find((event) => event.type === kind && matches(event.data as never)),
    );
  }

  async stop(): Promise<void> {
    await this.#connection.close();
  }
}

/** Returns the envelope of a message; undefined if a test published something else. */
// biome-ignore lint/suspicious/noExplicitAny: events of every kind
function eventOf(message: Msg): any {
  try {
    return message.json();
  } catch {
    return undefined;
  }
}
