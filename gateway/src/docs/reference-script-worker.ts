import { parentPort } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import fastifyApiReference from '@scalar/fastify-api-reference';

interface Route {
  url: string;
  handler(request: object, reply: Reply): void;
}
interface Reply {
  header(): Reply;
  send(text: string): void;
}

/** The plugin's routes, one of which serves the script: the package has it nowhere else. */
const routes: Route[] = [];
const server = { hasPlugin: () => false, initialConfig: {}, route: (route: Route) => routes.push(route) };
const register = fastifyApiReference as unknown as (to: object, options: object, done: () => void) => void;
register(server, { configuration: { url: '/v1/openapi.json' } }, () => undefined);

const reply: Reply = {
  header: () => reply,
  send(text) {
    const bytes = Buffer.from(text);
    parentPort!.postMessage({ bytes, gzipped: gzipSync(bytes) });
  },
};
routes.find(({ url }) => url.endsWith('.js'))!.handler({}, reply);
