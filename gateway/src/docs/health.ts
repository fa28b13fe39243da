import { existsSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { sendJson } from '../proxy/answer.ts';

/** Serves /healthz (the process runs) and /readyz (`isReady` holds, and `readyFile` exists where one is named). */
export function healthServer(isReady: () => boolean, readyFile: string | undefined) {
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return false;
    if (request.url === '/healthz') sendJson(response, 200, '{"status":"ok"}');
    else if (request.url === '/readyz') {
      const ready = isReady() && (readyFile === undefined || existsSync(readyFile));
      sendJson(response, ready ? 200 : 503, ready ? '{"status":"ready"}' : '{"status":"not ready"}');
    } else return false;
    return true;
  };
}
