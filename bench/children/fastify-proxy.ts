import { Redis } from 'ioredis';

// A gateway as Fastify's own plugins make it: one key, a rate limit in Redis, and a proxy. Its packages are no dependency of this
// repository: `npm install --no-save fastify @fastify/http-proxy @fastify/rate-limit`.
const [target, key, redisUrl] = process.argv.slice(2);
// biome-ignore lint/suspicious/noExplicitAny: packages that need not be there have no types here
const load = async (name: string): Promise<any> => (await import(name)).default;
const fastify = await load('fastify');
const app = fastify();
await app.register(await load('@fastify/rate-limit'), {
  max: 1_000_000_000,
  timeWindow: '1 minute',
  redis: new Redis(redisUrl!),
  keyGenerator: (request: { headers: Record<string, string> }) => request.headers.authorization,
});
app.addHook(
  'onRequest',
  async (
    request: { headers: Record<string, string> },
    reply: { code(status: number): { send(body: object): void } },
  ) => {
    if (request.headers.authorization !== `Bearer ${key}`) reply.code(401).send({ error: 'key' });
  },
);
await app.register(await load('@fastify/http-proxy'), { upstream: target });
process.stdin.resume().on('end', () => process.exit());
console.log(await app.listen({ host: '127.0.0.1', port: 0 }));
