import { existsSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isReading, pathOf, sendJson } from '../proxy/answer.ts';

const manifest = new URL('../../package.json', import.meta.url);
const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };
const health = JSON.stringify({ status: 'ok', service: 'gateway', version });

/**
 * Serves /healthz (the process runs) and /readyz (it takes requests: `isReady` holds, and `readyFile` exists where one is named);
 * returns whether the path was one of theirs. Throws 405.
 */
export function healthServer(isReady: () => boolean, readyFile?: string) {
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    if (!(request.url!.startsWith('/healthz') || request.url!.startsWith('/readyz'))) return false;
    const path = pathOf(request);
    if (path !== '/healthz' && path !== '/readyz') return false;
    if (!isReading(request, response)) return true;
    if (path === '/healthz') sendJson(response, 200, health);
    else {
      const ready = isReady() && (readyFile === undefined || existsSync(readyFile));
      sendJson(response, ready ? 200 : 503, ready ? '{"status":"ready"}' : '{"status":"not ready"}');
    }
    return true;
  };
}
