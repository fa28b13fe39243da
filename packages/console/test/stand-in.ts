import { existsSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { adminOperations } from '@customer-platform/contracts/accounts';
import type { Operation } from '@customer-platform/contracts/core';
import { handlers, type State, stateOf } from './stand-in-handlers.ts';

const dist = join(import.meta.dirname, '../dist');
const types: Record<string, string> = { '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };
const policy = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'";

/** A control plane with fixtures instead of a platform. The contract's schemas parse every request and response. */
export interface StandIn {
  url: string;
  token: string;
  state: State;
  /** Paths of all requests, with queries. */
  paths: string[];
  close(): Promise<void>;
}

/** Starts a stand-in on loopback. Throws if the console is not built. */
export async function startStandIn(): Promise<StandIn> {
  if (!existsSync(join(dist, 'index.html'))) throw new Error('build the console first: npm run build');
  const server = createServer((request, response) => {
    standIn.paths.push(request.url!);
    serve(request, response, standIn).catch((error: unknown) => {
      send(response, 500, { error: { code: 'internal_error', message: String(error) } });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const standIn: StandIn = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token: 'a-token-of-32-characters-or-more-1',
    state: stateOf(),
    paths: [],
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return standIn;
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  { token, state }: Pick<StandIn, 'token' | 'state'>,
) {
  const { pathname, searchParams } = new URL(request.url!, 'http://stand-in');
  if (pathname === '/healthz') {
    send(response, 200, { status: 'ok', service: 'gateway', version: '1.0.0' });
    return;
  }
  if (!pathname.startsWith('/admin/')) {
    sendFile(response, pathname, state.environment);
    return;
  }
  if (request.headers.authorization !== `Bearer ${token}`) {
    send(response, 401, { error: { code: 'invalid_key', message: 'The admin token is wrong' } });
    return;
  }
  const found = operationAt(request.method!, pathname);
  if (!found) {
    send(response, 404, { error: { code: 'not_found', message: `No operation exists at ${pathname}` } });
    return;
  }
  const { operation, params } = found;
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const given: unknown = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks).toString()) : {};
  await state.held.get(operation.key);
  const refusal = state.refused.get(operation.key);
  if (refusal !== undefined) {
    send(response, 503, { error: { code: 'service_unavailable', message: refusal } });
    return;
  }
  const body = operation.body?.parse(given) ?? {};
  const result = handlers[operation.key]?.({ state, params, query: Object.fromEntries(searchParams), body });
  if (result === undefined) {
    const message = (operation.key === 'getTrace' && state.elsewhere) || 'Nothing has this id';
    send(response, 404, { error: { code: 'not_found', message } });
  } else if (operation.response) send(response, operation.status, operation.response.parse(result));
  else response.writeHead(operation.status).end();
}

function operationAt(
  method: string,
  path: string,
): { operation: Operation; params: Record<string, string> } | undefined {
  const parts = path.split('/');
  for (const operation of Object.values(adminOperations) as Operation[]) {
    const template = operation.path.split('/');
    const isIt = operation.method === method && template.length === parts.length;
    if (!isIt || !template.every((part, index) => part.startsWith('{') || part === parts[index])) continue;
    const named = template.flatMap((part, index) =>
      part.startsWith('{') ? [[part.slice(1, -1), decodeURIComponent(parts[index]!)]] : [],
    );
    return { operation, params: Object.fromEntries(named) };
  }
  return undefined;
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}

/** Sends a file of the console. Writes the environment's name into the page, as the gateway does. */
function sendFile(response: ServerResponse, pathname: string, environment: string): void {
  const file = join(dist, pathname === '/' ? 'index.html' : pathname);
  if (!file.startsWith(dist) || !existsSync(file)) {
    response.writeHead(404).end();
    return;
  }
  const type = types[extname(file)] ?? 'text/html; charset=utf-8';
  response
    .writeHead(200, { 'Content-Type': type, 'Content-Security-Policy': policy })
    .end(pathname === '/' ? pageOf(file, environment) : readFileSync(file));
}

function pageOf(file: string, environment: string): string {
  return readFileSync(file, 'utf8').replace(environmentMeta(''), environmentMeta(environment));
}

function environmentMeta(name: string): string {
  return `<meta name="environment" content="${name}">`;
}
