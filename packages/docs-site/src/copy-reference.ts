import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fastifyApiReference from '@scalar/fastify-api-reference';

/**
 * Puts all that the page of the reference loads into a built site: our own scripts and styles, and `reference/scalar.js`, which draws the
 * reference. They need no bundler: browsers load them as they are.
 */
export async function copyReference(dist: string): Promise<void> {
  const folder = join(dist, 'reference');
  await mkdir(folder, { recursive: true });
  const isOurs = (file: string) => !file.endsWith('.ts');
  await cp(join(import.meta.dirname, 'reference'), folder, { recursive: true, filter: isOurs });
  await writeFile(join(folder, 'scalar.js'), scalarScript());
}

interface Route {
  url: string;
  handler(request: object, reply: Reply): void;
}
interface Reply {
  header(): Reply;
  send(text: string): void;
}

/**
 * Returns Scalar's script. The plugin has it as text, and serves it at one of its routes. `@scalar/api-reference` has it as a file, but
 * installs 280 packages of 310 MB, none of which the built script needs.
 */
function scalarScript(): string {
  const routes: Route[] = [];
  const server = { hasPlugin: () => false, initialConfig: {}, route: (route: Route) => routes.push(route) };
  const register = fastifyApiReference as unknown as (to: object, options: object, done: () => void) => void;
  register(server, { configuration: { url: '/v1/openapi.json' } }, () => undefined);
  const route = routes.find(({ url }) => url.endsWith('.js'));
  if (!route) throw new Error('@scalar/fastify-api-reference has no route for its script any more');
  let script = '';
  const reply: Reply = {
    header: () => reply,
    send(text) {
      script = text;
    },
  };
  route.handler({}, reply);
  return script;
}
