import type { IncomingMessage, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { listenAndTell } from './listen.ts';

// Accepts webhooks at any path and, under /send, messages like an account's own provider, both immediately. GET /report returns the arrivals
// since the last call; GET /hang?prefix=/send/sms makes requests to paths with this prefix hang, until GET /release.
const arrivals: { path: string; id: string; at: number }[] = [];
let hangingPrefix: string | undefined = '/hang';
const hanging = new Set<() => void>();

listenAndTell((request, response) => {
  const at = performance.timeOrigin + performance.now();
  const path = request.url!;
  if (request.method === 'GET') return command(path, response);
  if (path.startsWith('/send')) return void takeMessage(request, response, path, at);
  arrivals.push({ path, id: String(request.headers['webhook-id']), at });
  request.resume().on('end', () => respond(path, response, () => response.writeHead(204).end()));
});

function command(path: string, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(path, 'http://receiver');
  if (pathname === '/hang') hangingPrefix = searchParams.get('prefix')!;
  if (pathname === '/release') {
    hangingPrefix = undefined;
    for (const end of hanging) end();
  }
  response.end(JSON.stringify(pathname === '/report' ? arrivals.splice(0) : []));
}

async function takeMessage(request: IncomingMessage, response: ServerResponse, path: string, at: number) {
  const { message, attempt } = (await json(request)) as { message: string; attempt: string };
  arrivals.push({ path, id: message, at });
  respond(path, response, () =>
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ id: attempt })),
  );
}

/** Ends a response immediately or, if its path hangs, after the release. */
function respond(path: string, response: ServerResponse, end: () => void): void {
  if (hangingPrefix !== undefined && path.startsWith(hangingPrefix)) {
    hanging.add(end);
    response.on('close', () => hanging.delete(end));
  } else end();
}
