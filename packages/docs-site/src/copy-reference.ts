import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fastifyApiReference from '@scalar/fastify-api-reference';

/**
 * Copies all files that the reference page loads into a built site: our own scripts and styles, and `reference/scalar.js`, which renders the
 * reference. Browsers load them without a bundler.
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
 * Returns Scalar's script, which the Fastify plugin serves at one of its routes. `@scalar/api-reference` has the script as a file, but
 * installs 280 packages (310 MB) that the built script does not need.
 */
function scalarScript(): string {
  const routes: Route[] = [];
  const server = { hasPlugin: () => false, initialConfig: {}, route: (route: Route) => routes.push(route) };
  const register = fastifyApiReference as unknown as (to: object, options: object, done: () => void) => void;
  register(server, { configuration: { url: '/v1/openapi.json' } }, () => undefined);
  const route = routes.find(({ url }) => url.endsWith('.js'));
  if (!route)
    throw new Error(
      '@scalar/fastify-api-reference has no route for its script: adapt copy-reference.ts to its version',
    );
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
