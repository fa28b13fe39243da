import type { IncomingMessage, ServerResponse } from 'node:http';
import { listenAndTell } from './listen.ts';

// Accepts messages like an account's own provider, each at once with an id. GET /report returns the arrivals since the last call;
// GET /hang?prefix=/sms makes requests to paths with this prefix hang, until GET /release.
interface Arrival {
  path: string;
  attempt: string;
  message: string;
  body: string;
  /** Time in milliseconds at which its head arrived. */
  at: number;
}

const arrivals: Arrival[] = [];
let hangingPrefix: string | undefined;
const hanging = new Set<() => void>();

listenAndTell((request, response) => {
  const at = Date.now();
  const { pathname: path, searchParams } = new URL(request.url ?? '', 'http://provider');
  if (request.method === 'POST') return take(request, response, path, at);
  if (path === '/hang') hangingPrefix = searchParams.get('prefix') ?? undefined;
  if (path === '/release') {
    hangingPrefix = undefined;
    for (const respond of hanging) respond();
  }
  const report = path === '/report' ? arrivals.splice(0) : [];
  response.setHeader('content-type', 'application/json').end(JSON.stringify(report));
});

function take(request: IncomingMessage, response: ServerResponse, path: string, at: number): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const { message, attempt, body } = JSON.parse(Buffer.concat(chunks).toString()) as Omit<Arrival, 'path' | 'at'>;
    arrivals.push({ path, attempt, message, body, at });
    const respond = () => {
      hanging.delete(respond);
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ id: attempt }));
    };
    if (hangingPrefix === undefined || !path.startsWith(hangingPrefix)) return respond();
    hanging.add(respond);
    response.on('close', () => hanging.delete(respond));
  });
}
