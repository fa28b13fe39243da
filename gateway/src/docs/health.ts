import { existsSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isReading, pathOf, sendJson } from '../proxy/answer.ts';

/**
 * Serves /healthz (the process runs) and /readyz (`isReady` holds, and `readyFile` exists where one is named); answers
 * whether the path was one of theirs. Throws 405.
 */
export function healthServer(isReady: () => boolean, readyFile: string | undefined) {
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    if (!(request.url!.startsWith('/healthz') || request.url!.startsWith('/readyz'))) return false;
    const path = pathOf(request);
    if (path !== '/healthz' && path !== '/readyz') return false;
    if (!isReading(request, response)) return true;
    if (path === '/healthz') sendJson(response, 200, '{"status":"ok"}');
    else {
      const ready = isReady() && (readyFile === undefined || existsSync(readyFile));
      sendJson(response, ready ? 200 : 503, ready ? '{"status":"ready"}' : '{"status":"not ready"}');
    }
    return true;
  };
}
