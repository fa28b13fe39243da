import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parse as parseQuery } from 'node:querystring';
import express, { type Express } from 'express';

/** Largest head of a request that the gateway takes, in bytes. */
export const gatewayHeadBytes = 16_384;
/** Largest that a service takes: the gateway adds headers of its own. */
const serviceHeadBytes = 2 * gatewayHeadBytes;

/** Longer than the gateway keeps a socket idle, so that it never sends into one that closes. */
const keepAliveMs = 75_000;

/** By default those after the thousandth are left out, as if a list had no such filter; a head has room for a few thousand. */
const everyParameter = { maxKeys: 0 };

/** An Express app as every listener of ours has it; `locals.beganMs` of a response is when its request came. */
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

/** A server that listens. */
export interface Listener {
  url: string;
  server: Server;
  /** Ends each connection with its next response, while serving on: whoever connects again is led to another process. */
  drain(): void;
  /** Refuses new connections and waits at most `drainMs` for requests that were taken. */
  close(drainMs: number): Promise<void>;
}

/** Listens on an address. A request's head has at most `headBytes`, as the gateway sends it unless given. */
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
      // A connection does not become idle at once after its last response: it is swept, not waited for.
      const sweep = setInterval(() => server.closeIdleConnections(), 50);
      const deadline = setTimeout(() => server.closeAllConnections(), drainMs);
      await closed;
      clearInterval(sweep);
      clearTimeout(deadline);
    },
  };
}
