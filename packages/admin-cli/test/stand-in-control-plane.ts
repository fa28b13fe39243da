import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { adminOperations } from '@customer-platform/contracts/accounts';
import type { Operation } from '@customer-platform/contracts/core';
import { type Seen, type StandInService, startStandIn } from '@customer-platform/testkit/stand-in-service';
import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import { z } from 'zod';
import { runCommand } from '../src/cli.ts';

type OperationKey = keyof typeof adminOperations;

/** A request that the contract allows. */
export interface AdminRequest {
  operation: string;
  params: Record<string, string>;
  /** The body, or the query of a GET. */
  fields: unknown;
}

const token = 'a token of the operators, long enough';
/** The time in the stand-in's Date header. */
export const standInNow = new Date('2026-11-20T12:00:00.000Z');

/**
 * Starts a stand-in control plane for a test file. Each test sets its responses. The contract's schemas parse all requests and responses, so
 * neither the fixtures nor the tool can deviate from the contract.
 */
export function useStandIn() {
  let service: StandInService;
  const responses = new Map<string, { status: number; body: string }>();
  const plane = {
    seen: [] as AdminRequest[],
    /** Operations that get no response. */
    held: new Set<string>(),
    /** Sets an operation's response. Throws if the contract does not allow it. */
    give<Key extends OperationKey>(key: Key, body: ResponseInput<Key>): void {
      const { response, status }: Operation = adminOperations[key];
      responses.set(key, { status, body: JSON.stringify(response!.parse(body)) });
    },
    /** Sets an operation's response to any status and body. */
    respondWith(key: OperationKey, status: number, body: unknown): void {
      responses.set(key, { status, body: typeof body === 'string' ? body : JSON.stringify(body) });
    },
  };
  beforeAll(async () => {
    service = await startStandIn();
    service.respond = (seen, response) => {
      response.setHeader('date', standInNow.toUTCString());
      const request = requestOf(seen, token);
      if ('status' in request) return respond(response, request.status, JSON.stringify(request.body));
      plane.seen.push(request);
      if (plane.held.has(request.operation)) return;
      const { status, body } = responses.get(request.operation) ?? { status: 204, body: '' };
      respond(response, status, body);
    };
  });
  beforeEach(() => {
    plane.seen.length = 0;
    plane.held.clear();
    responses.clear();
  });
  afterAll(async () => await service.stop());
  const env = () => ({ ADMIN_URL: service.url, ADMIN_TOKEN: token });
  /** Runs a command with 80 columns. `others` are additional environment variables. */
  const run = async (args: string[], others: NodeJS.ProcessEnv = {}) =>
    await runCommand(args, { ...env(), ...others }, tmpdir());
  return { plane, env, run };
}

type ResponseInput<Key extends OperationKey> = (typeof adminOperations)[Key] extends { response: infer Schema }
  ? z.input<Schema>
  : never;

function respond(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(body);
}

function requestOf({ method, url, headers, body }: Seen, token: string) {
  if (headers.authorization !== `Bearer ${token}`) return refused(401, 'invalid_key', 'the admin token is wrong');
  const { pathname, searchParams } = new URL(url, 'http://stand-in');
  const operations = Object.values<Operation>(adminOperations);
  const operation = operations.find((each) => each.method === method && paramsOf(each.path, pathname));
  if (!operation) return refused(404, 'not_found', `there is no ${method} ${pathname}`);
  const schema = operation.body ?? operation.query ?? z.object({});
  const given = operation.body ? JSON.parse(body) : Object.fromEntries([...searchParams].map(fieldOf));
  const fields = z.strictObject(schema.shape).safeParse(given);
  if (!fields.success) return refused(400, 'invalid_request', z.prettifyError(fields.error));
  const params = paramsOf(operation.path, pathname)!;
  if (operation.params?.safeParse(params).success === false) return refused(404, 'not_found', 'malformed id');
  return { operation: operation.key, params, fields: given };
}

function refused(status: number, code: string, message: string) {
  return { status, body: { error: { code, message } } };
}

function paramsOf(template: string, pathname: string): Record<string, string> | undefined {
  const [parts, given] = [template.split('/'), pathname.split('/')];
  const params: Record<string, string> = {};
  for (const [index, part] of parts.entries()) {
    if (part.startsWith('{') && given[index]) params[part.slice(1, -1)] = given[index];
    else if (part !== given[index]) return undefined;
  }
  return parts.length === given.length ? params : undefined;
}

function fieldOf([name, text]: [string, string]): [string, unknown] {
  return [name, /^(?:true|false|\d+)$/.test(text) ? JSON.parse(text) : text];
}
