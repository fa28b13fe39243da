import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parse as parseQuery } from 'node:querystring';
import express, { type Express } from 'express';

/** Maximum size of a request head at the gateway, in bytes. */
export const gatewayHeadBytes = 16_384;
/** Maximum size at a service, since the gateway adds headers. */
const serviceHeadBytes = 2 * gatewayHeadBytes;

/** Longer than the gateway keeps an idle socket, so that it never sends into a closing one. */
const keepAliveMs = 75_000;

/** Reads all parameters. Node.js drops those after the thousandth by default, as if a list had no such filter. */
const everyParameter = { maxKeys: 0 };

/** Returns an Express app with the platform's settings. `locals.beganMs` of a response is the time at which its request came. */
export function createApp(): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('strict routing');
  app.enable('case sensitive routing');
  app.set('query parser', (query: string) => parseQuery(query, '&', '=', everyParameter));
  app.use((_request, response, next) => {
    response.locals.beganMs = performance.now();
    next();
  });
  return app;
}

/** A listening server. */
export interface Listener {
  url: string;
  server: Server;
  /** Closes each connection after its next response while still serving, so that clients reconnect to another process. */
  drain(): void;
  /** Refuses new connections and waits at most `drainMs` for accepted requests. */
  close(drainMs: number): Promise<void>;
}

/** Listens on an address. `headBytes` limits a request's head; by default it fits requests from the gateway. */
export async function listen(
  handler: Express | Parameters<typeof createServer>[1],
  port: number,
  host: string,
  headBytes = serviceHeadBytes,
): Promise<Listener> {
  const server = createServer(
    { keepAliveTimeout: keepAliveMs, requestTimeout: 60_000, requireHostHeader: false, maxHeaderSize: headBytes },
    handler as Express,
  );
  await once(server.listen(port, host), 'listening');
  const address = server.address() as AddressInfo;
  return {
    url: `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`,
    server,
    drain() {
      const endWith = (_request: IncomingMessage, response: ServerResponse) => {
        response.shouldKeepAlive = false;
      };
      server.prependListener('request', endWith).prependListener('checkContinue', endWith);
    },
    async close(drainMs) {
      const closed = new Promise((resolve) => server.close(resolve));
      // A connection is not idle at once after its last response, so a timer keeps closing idle connections.
      const sweep = setInterval(() => server.closeIdleConnections(), 50);
      const deadline = setTimeout(() => server.closeAllConnections(), drainMs);
      await closed;
      clearInterval(sweep);
      clearTimeout(deadline);
    },
  };
}
