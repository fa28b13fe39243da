import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { adminOperations } from '@customer-platform/contracts/accounts';
import type { Operation, ResponseOf } from '@customer-platform/contracts/core';
import { parseJson, printable } from './text.ts';

/** The control plane's address and token. `source` says where the URL comes from. */
export interface ControlPlane {
  url: string;
  token: string;
  source: string;
}

export type OperationKey = keyof typeof adminOperations;

/** The body of an operation's response. */
export type Body<Key extends OperationKey> = ResponseOf<(typeof adminOperations)[Key]>;

/** A response. `now` is the control plane's time, from its Date header. An empty body is undefined. */
export interface Answer<Body> {
  body: Body;
  now: Date;
}

/** The error of an error response, or a substitute if the response has none. */
export interface Refusal {
  code: string;
  message: string;
  field?: string;
}

/** A request that failed. Without a status, it got no response. */
class Refused extends Error {
  readonly refusal: Refusal;
  constructor(refusal: Refusal, status?: number, options?: ErrorOptions) {
    const prefix = status === undefined ? '' : `refused (${status} ${refusal.code}): `;
    super(prefix + printable(refusal.message), options);
    this.refusal = refusal;
  }
}

/** Returns an error as a refusal. */
export function refusalOf(error: unknown): Refusal {
  return error instanceof Refused ? error.refusal : { code: 'internal_error', message: (error as Error).message };
}

/**
 * Returns the control plane's address and token from the environment, or else from the last `npm start`. Throws if
 * there is no token.
 */
export function findControlPlane(env: NodeJS.ProcessEnv, directory: string): ControlPlane {
  const addressesFile = join(directory, 'addresses.json');
  const { admin } = readJson(addressesFile);
  const secrets = readJson(join(directory, 'secrets.json'));
  const token = env.ADMIN_TOKEN || secrets.ADMIN_TOKEN || readJson(join(directory, 'demo.json')).admin_token;
  if (!token) {
    const message = 'ADMIN_TOKEN must be set, or the platform must be started here with npm start';
    throw new Refused({ code: 'key_required', message });
  }
  if (env.ADMIN_URL) return { url: env.ADMIN_URL, token, source: 'ADMIN_URL' };
  if (env.ADMIN_PORT) return { url: `http://127.0.0.1:${env.ADMIN_PORT}`, token, source: 'ADMIN_PORT' };
  if (admin) return { url: admin, token, source: addressesFile };
  return { url: 'http://127.0.0.1:8081', token, source: 'the default' };
}

function readJson(file: string): Record<string, string | undefined> {
  if (!existsSync(file)) return {};
  const json = parseJson(readFileSync(file, 'utf8'));
  if (json === undefined) throw new Error(`${file} is not JSON`);
  return json as Record<string, string>;
}

/** Sends a request and reads its response. Throws for an error response, for no response, and if `signal` aborts. */
export async function send(
  { url, token, source }: ControlPlane,
  { method, path, body }: Pick<Operation, 'method' | 'path' | 'body'>,
  fields: Record<string, unknown>,
  signal: AbortSignal,
): Promise<Answer<unknown>> {
  const target = new URL(url.replace(/\/$/, '') + path);
  if (!body) target.search = new URLSearchParams(fields as Record<string, string>).toString();
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  try {
    const response = await fetch(target, { method, headers, body: body ? JSON.stringify(fields) : null, signal });
    const now = new Date(response.headers.get('date') ?? Date.now());
    return { body: bodyOf(response.status, await response.text()), now };
  } catch (cause) {
    if (cause instanceof Refused) throw cause;
    const tried = `no response from the control plane at ${url} (from ${source})`;
    const message = `${tried}; start the platform, or set ADMIN_URL or ADMIN_PORT to its address`;
    throw new Refused({ code: 'service_unavailable', message }, undefined, { cause });
  }
}

/** Returns the parsed body. Throws for an error response, and for a body that is not JSON, such as a load balancer's page. */
function bodyOf(status: number, text: string): unknown {
  const body = parseJson(text);
  const excerpt = text.length <= 500 ? text : `${text.slice(0, 500)}…`;
  if (status < 400) {
    if (body !== undefined || text === '') return body;
    const message = `the response must be JSON of a control plane, not ${excerpt}`;
    throw new Refused({ code: 'service_unavailable', message }, status);
  }
  const { error } = (body ?? {}) as { error?: Refusal };
  const code = status < 500 ? 'invalid_request' : 'service_unavailable';
  throw new Refused(error?.message ? error : { code, message: excerpt }, status);
}
