import type { IncomingMessage, ServerResponse } from 'node:http';
import postgres from 'postgres';
import type { Database } from '../database/database.ts';
import { dial } from '../database/pool/dial.ts';
import { isReading, pathOf, send } from './responses.ts';

/** Health of a process. */
export interface Health {
  service: string;
  version: string;
  /** Returns false if a restart would help the process. */
  isAlive(): Promise<boolean>;
}

/** A process is stuck if its queries do not end for this long while the database accepts connections. */
const stuckMs = 30_000;
const connectMs = 2_000;
/** Time for which the outcome of a connection attempt is reused. */
const reusedForMs = 1_000;

/**
 * Returns whether a pool makes progress, or waits because the database is unavailable. With a pooler, `url` leads to the database behind it. Then
 * both must accept connections to count as available, since a pooler alone accepts clients and keeps them waiting.
 */
export async function isDatabaseResponsive(sql: Database, url?: string): Promise<boolean> {
  return sql.pool.stalledMs < stuckMs || !(await canConnect(sql, url));
}

/** Connection attempts of the last second by pool, since anyone may ask for the health at any rate. */
const attempts = new WeakMap<Database, Promise<boolean[]>>();

/** Returns whether all servers accept connections now, or did within the last second. */
async function canConnect(sql: Database, url: string | undefined): Promise<boolean> {
  const servers = [sql.options, ...(url ? [postgres(url, { max: 1 }).options] : [])];
  const attempt = attempts.get(sql) ?? Promise.all(servers.map(acceptsConnections));
  if (!attempts.has(sql)) setTimeout(() => attempts.delete(sql), reusedForMs).unref();
  attempts.set(sql, attempt);
  return (await attempt).every(Boolean);
}

async function acceptsConnections(server: postgres.ParsedOptions): Promise<boolean> {
  return await dial(server, 0, connectMs).then(
    (socket) => Boolean(socket.destroy()),
    () => false,
  );
}

/**
 * Returns a handler for `/healthz` (liveness and version) and `/readyz` (readiness) that returns whether it handled the path. Readiness covers only
 * the process itself: an outage of a shared database would take all processes out of service at once. Throws 405 for other methods.
 */
export function healthServer({ service, version, isAlive }: Health, isReady: () => boolean) {
  const sendHealth = async (response: ServerResponse) => {
    const alive = await isAlive();
    send(response, alive ? 200 : 503, JSON.stringify({ status: alive ? 'ok' : 'stuck', service, version }));
  };
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    if (!(request.url!.startsWith('/healthz') || request.url!.startsWith('/readyz'))) return false;
    const path = pathOf(request);
    if (path !== '/healthz' && path !== '/readyz') return false;
    if (!isReading(request, response)) return true;
    if (path === '/healthz') void sendHealth(response);
    else {
      const ready = isReady();
      send(response, ready ? 200 : 503, JSON.stringify({ status: ready ? 'ready' : 'not ready' }));
    }
    return true;
  };
}
