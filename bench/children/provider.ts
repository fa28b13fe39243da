import type { IncomingMessage, ServerResponse } from 'node:http';
import { listenAndTell } from './listen.ts';

// Takes messages as an account's own provider does, each at once with an id. GET /report returns what came since it was last asked;
// GET /hang?prefix=/sms lets what comes to paths that begin so wait without a response, until GET /release.
interface Arrival {
  path: string;
  attempt: string;
  message: string;
  body: string;
  /** Milliseconds at which its head came. */
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
    for (const answer of hanging) answer();
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
    const answer = () => {
      hanging.delete(answer);
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ id: attempt }));
    };
    if (hangingPrefix === undefined || !path.startsWith(hangingPrefix)) return answer();
    hanging.add(answer);
    response.on('close', () => hanging.delete(answer));
  });
}
