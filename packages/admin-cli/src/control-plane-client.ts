import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Operation } from '@customer-platform/contracts/core';
import { z } from 'zod';

/** The control plane's address and token. `source` is that of the URL. */
export interface ControlPlane {
  url: string;
  token: string;
  source: string;
}

/** A response. `now` is the control plane's time, by its Date header: ages are right whatever this machine's clock says. */
export interface Received {
  status: number;
  text: string;
  now: Date | undefined;
}

/** The error of an envelope, or one that stands for it where there is none. */
export interface Refusal {
  code: string;
  message: string;
  field?: string;
}

/** A failure to get any response. */
export class Unreachable extends Error {
  readonly refusal: Refusal;
  constructor(message: string, code: string, cause?: unknown) {
    super(message, { cause });
    this.refusal = { code, message };
  }
}

/**
 * Returns the control plane's address and token: from the environment, else from the last local start. `source` says
 * where the URL is from. Throws without a token.
 */
export function findControlPlane(env: NodeJS.ProcessEnv, directory: string): ControlPlane {
  const demo = readJson(join(directory, 'demo.json'));
  const addressesFile = join(directory, 'addresses.json');
  const { admin } = readJson(addressesFile);
  const secrets = readJson(join(directory, 'secrets.json'));
  const token = env.ADMIN_TOKEN || secrets.ADMIN_TOKEN || demo.admin_token;
  if (!token) {
    const message = 'ADMIN_TOKEN must be set, or the platform be started here with npm start';
    throw new Unreachable(message, 'key_required');
  }
  if (env.ADMIN_URL) return { url: env.ADMIN_URL, token, source: 'ADMIN_URL' };
  if (env.ADMIN_PORT) return { url: `http://127.0.0.1:${env.ADMIN_PORT}`, token, source: 'ADMIN_PORT' };
  if (admin) return { url: admin, token, source: addressesFile };
  return { url: 'http://127.0.0.1:8081', token, source: 'the default' };
}

function readJson(file: string): Record<string, string | undefined> {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new Error(`${file} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

/** Sends a request and reads the whole response until `signal` aborts. Throws Unreachable if there is none. */
export async function send(
  { url, token, source }: ControlPlane,
  operation: Operation,
  { path, fields }: { path: string; fields: Record<string, unknown> },
  signal: AbortSignal,
): Promise<Received> {
  const query = operation.method === 'GET' ? new URLSearchParams(textsOf(fields)).toString() : '';
  const target = `${url.replace(/\/$/, '')}${path}${query === '' ? '' : `?${query}`}`;
  try {
    const response = await fetch(target, {
      method: operation.method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(operation.body ? { body: JSON.stringify(fields) } : {}),
      signal,
    });
    const date = Date.parse(response.headers.get('date') ?? '');
    const now = Number.isNaN(date) ? undefined : new Date(date);
    return { status: response.status, text: await response.text(), now };
  } catch (cause) {
    const tried = `no response from the control plane at ${url} (from ${source})`;
    const remedy = 'start the platform, or set ADMIN_URL or ADMIN_PORT to its address';
    throw new Unreachable(`${tried}; ${remedy}`, 'service_unavailable', cause);
  }
}

/** An operation whose path has no parameters. */
export type Listing<Schema> = Operation & { response: Schema };

/** Returns the body of a response and its time, or why there is none. */
export async function ask<Schema extends z.ZodType>(
  plane: ControlPlane,
  operation: Listing<Schema>,
  fields: Record<string, unknown>,
  signal: AbortSignal,
): Promise<{ body: z.output<Schema>; raw: unknown; now: Date | undefined } | { refusal: Refusal }> {
  try {
    const received = await send(plane, operation, { path: operation.path, fields }, signal);
    const outcome = readResponse(received);
    if ('refusal' in outcome) return outcome;
    const parsed = operation.response.safeParse(outcome.body);
    if (parsed.success) return { body: parsed.data, raw: outcome.body, now: received.now };
    const message = `the response of ${operation.key} is of another version: ${z.prettifyError(parsed.error)}`;
    return { refusal: { code: 'service_unavailable', message } };
  } catch (error) {
    return { refusal: failureOf(error) };
  }
}

function textsOf(fields: Record<string, unknown>): [string, string][] {
  return Object.entries(fields).map(([name, value]) => [name, String(value)]);
}

/** Returns a failure to get any response in the form of a refusal. */
export function failureOf(error: unknown): Refusal {
  if (error instanceof Unreachable) return error.refusal;
  return { code: 'internal_error', message: (error as Error).message };
}

/** Returns the body of a response as JSON, or why it is refused. Something that is not JSON, such as a balancer's page, counts as refused. */
export function readResponse({ status, text }: Received): { body: unknown } | { refusal: Refusal } {
  const body = parsed(text);
  if (status < 400) {
    if (text === '') return { body: undefined };
    if (body !== undefined) return { body };
    return {
      refusal: { code: 'service_unavailable', message: `${excerpt(text)} is not what a control plane returns` },
    };
  }
  const refusal = (body as { error?: Partial<Refusal> } | null | undefined)?.error;
  if (typeof refusal?.code === 'string' && typeof refusal.message === 'string') {
    return { refusal: { ...refusal, code: refusal.code, message: refusal.message } };
  }
  return { refusal: { code: status < 500 ? 'invalid_request' : 'service_unavailable', message: excerpt(text) } };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function excerpt(text: string): string {
  return text.length <= 500 ? text : `${text.slice(0, 500)}…`;
}
