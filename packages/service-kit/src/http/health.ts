import type { IncomingMessage, ServerResponse } from 'node:http';
import postgres from 'postgres';
import type { Database } from '../database/database.ts';
import { dial } from '../database/pool/dial.ts';
import { isReading, pathOf, send } from './responses.ts';

/** Health of a process. */
export interface Health {
  service: string;
  version: string;
  /** Returns whether restarting the process would not help. */
  isAlive(): Promise<boolean>;
}

/** A process is stuck whose statements do not end for this long although the database can be dialled. */
const stuckMs = 30_000;
const dialMs = 2_000;
/** Time for which the outcome of a dial is used. */
const dialledForMs = 1_000;

/**
 * Returns whether a pool makes progress, or waits since the database is unavailable, or its pooler: where that has a database behind it, at `url`, both are dialled. One that
 * is there alone keeps who dials it waiting.
 */
export async function isDatabaseMoving(sql: Database, url?: string): Promise<boolean> {
  return sql.pool.standsStillMs < stuckMs || !(await canDial(sql, url));
}

/** Dials of the last second: anybody may ask, as often as they like. */
const dials = new WeakMap<Database, Promise<boolean[]>>();

/** Returns whether all can be dialled, or could be within the last second. */
async function canDial(sql: Database, url: string | undefined): Promise<boolean> {
  const servers = [sql.options, ...(url ? [postgres(url, { max: 1 }).options] : [])];
  const dialling = dials.get(sql) ?? Promise.all(servers.map(isThere));
  if (!dials.has(sql)) setTimeout(() => dials.delete(sql), dialledForMs).unref();
  dials.set(sql, dialling);
  return (await dialling).every(Boolean);
}

async function isThere(server: postgres.ParsedOptions): Promise<boolean> {
  return await dial(server, 0, dialMs).then(
    (socket) => Boolean(socket.destroy()),
    () => false,
  );
}

/**
 * Returns a server of `/healthz` (whether the process is alive, and its version) and `/readyz` (whether it takes requests), which returns
 * whether the path was one of theirs. Readiness follows what the process itself is: a database that all share would take all of them out
 * of service at once. Throws 405.
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
