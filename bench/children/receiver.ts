import type { ServerResponse } from 'node:http';
import { listenAndTell } from './listen.ts';

// Takes deliveries: /report returns what came to each path since it was last asked, and anything under /hang is taken and
// never responded to.
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
