import { existsSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Health, send } from '@customer-platform/service-kit';
import { isReading, pathOf } from '../proxy/respond.ts';

/**
 * Returns a server of /healthz (whether the process is alive, and its version) and /readyz (it takes requests:
 * `isReady` holds, and `readyFile` exists if given), which returns whether the path was one of theirs. Throws 405.
 */
export function healthServer(health: Health, isReady: () => boolean, readyFile?: string) {
  const { service, version } = health;
  const sendHealth = async (response: ServerResponse) => {
    const isAlive = await health.isAlive();
    send(response, isAlive ? 200 : 503, JSON.stringify({ status: isAlive ? 'ok' : 'stuck', service, version }));
  };
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    if (!(request.url!.startsWith('/healthz') || request.url!.startsWith('/readyz'))) return false;
    const path = pathOf(request);
    if (path !== '/healthz' && path !== '/readyz') return false;
    if (!isReading(request, response)) return true;
    if (path === '/healthz') void sendHealth(response);
    else {
      const ready = isReady() && (readyFile === undefined || existsSync(readyFile));
      send(response, ready ? 200 : 503, ready ? '{"status":"ready"}' : '{"status":"not ready"}');
    }
    return true;
  };
}
