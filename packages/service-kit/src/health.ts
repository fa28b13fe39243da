import { connect } from 'node:net';
import type { Express } from 'express';
import { type Database, standsStillMs } from './database.ts';

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

/** Returns whether a pool makes progress, or waits since the database is unavailable. */
export async function isDatabaseMoving(sql: Database): Promise<boolean> {
  return standsStillMs(sql) < stuckMs || !(await canDial(sql));
}

async function canDial({ options: { host, port, path } }: Database): Promise<boolean> {
  const socket = path ? connect(path) : connect(port[0]!, host[0]!);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
  socket.setTimeout(dialMs, () => resolve(false));
  return await promise.finally(() => socket.destroy());
}

/**
 * `/healthz` says whether the process is alive, and its version; `/readyz` that it takes requests, which follows what the process itself
 * is: a database that all share would take all of them out of service at once.
 */
export function addHealth(app: Express, { service, version, isAlive }: Health, isReady: () => boolean): void {
  app.get('/healthz', async (_request, response) => {
    const alive = await isAlive();
    response.status(alive ? 200 : 503).json({ status: alive ? 'ok' : 'stuck', service, version });
  });
  app.get('/readyz', (_request, response) => {
    const ready = isReady();
    response.status(ready ? 200 : 503).json({ status: ready ? 'ready' : 'not ready' });
  });
}
