import type { ServerResponse } from 'node:http';
import { listenAndTell } from './listen.ts';

// Accepts deliveries: /report returns the arrivals by path since the last call; requests under /hang are accepted and never
// get a response.
let arrivals: { path: string; id: string; at: number }[] = [];
const hanging = new Set<ServerResponse>();

listenAndTell((request, response) => {
  const path = request.url ?? '';
  request.resume();
  if (path === '/report') {
    response.end(JSON.stringify(arrivals));
    arrivals = [];
    return;
  }
  arrivals.push({ path, id: String(request.headers['webhook-id']), at: performance.timeOrigin + performance.now() });
  if (path.startsWith('/hang')) {
    hanging.add(response);
    response.on('close', () => hanging.delete(response));
  } else request.on('end', () => response.writeHead(204).end());
});
