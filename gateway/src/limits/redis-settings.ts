import { z } from 'zod';

const example = 'redis://:password@host:6379';

/** Settings of the gateway's Redis. `checkRedisSettings` checks combinations of them. */
export const redisSettings = {
  REDIS_URL: z
    .string()
    .min(1)
    .superRefine((text, context) => {
      const wrong = partsOf(text).findIndex((part) => urlOf(part) === undefined);
      if (wrong < 0) return;
      const place = partsOf(text).length === 1 ? '' : `; number ${wrong + 1} is not`;
      context.addIssue(
        `must be a URL with redis:// or rediss:// and a host, such as ${example}, or several separated by commas${place}`,
      );
    })
    .meta({
      description:
        'Redis for rate limits, such as redis://127.0.0.1:6379, or rediss:// for TLS. For a cluster, some of its servers; for Sentinel, the sentinels: whole URLs, separated by commas. The first user and password apply to all.',
    }),
  REDIS_MODE: z.enum(['single', 'cluster', 'sentinel']).default('single').meta({
    description:
      'What REDIS_URL lists: single for one Redis, cluster for servers of a Redis Cluster, sentinel for sentinels that know the master.',
  }),
  REDIS_SENTINEL_NAME: z
    .string()
    .default('mymaster')
    .meta({ description: "The master's name at the sentinels, with REDIS_MODE=sentinel." }),
  REDIS_SENTINEL_PASSWORD: z.string().optional().meta({
    description: 'Password of the sentinels, with REDIS_MODE=sentinel. Default: the one in REDIS_URL.',
  }),
  REDIS_PREFIX: z
    .string()
    .default('platform')
    .meta({ description: 'First part of every Redis key. It separates installations that share one Redis.' }),
  REDIS_TIMEOUT_MS: z.coerce.number().int().min(5).max(10_000).default(50).meta({
    description: 'How long a request waits for Redis, in milliseconds. After it, the gateway limits rates by itself.',
  }),
};

export type RedisSettings = z.output<z.ZodObject<typeof redisSettings>>;

/** Adds an issue, with the setting's name, for each setting that contradicts another. */
export function checkRedisSettings(settings: RedisSettings, context: z.RefinementCtx): void {
  const { REDIS_URL, REDIS_MODE, REDIS_PREFIX, REDIS_SENTINEL_PASSWORD } = settings;
  const add = (name: keyof RedisSettings, message: string) =>
    context.addIssue({ code: 'custom', path: [name], message });
  const contradiction = contradictionIn(partsOf(REDIS_URL), REDIS_MODE);
  if (contradiction) add('REDIS_URL', contradiction);
  if (REDIS_MODE === 'cluster' && /[{}]/.test(REDIS_PREFIX))
    add('REDIS_PREFIX', 'must have no { or } with REDIS_MODE=cluster, because they determine which server has a key');
  if (REDIS_MODE !== 'sentinel' && REDIS_SENTINEL_PASSWORD !== undefined)
    add('REDIS_SENTINEL_PASSWORD', `must be left out with REDIS_MODE=${REDIS_MODE}, or REDIS_MODE must be sentinel`);
}

/** Returns what is wrong with valid URLs in a mode, or undefined. */
function contradictionIn(parts: string[], mode: RedisSettings['REDIS_MODE']): string | undefined {
  if (mode === 'single') {
    if (parts.length === 1) return undefined;
    return `must be one URL with REDIS_MODE=single, not ${parts.length}; for several, set REDIS_MODE to cluster or sentinel`;
  }
  const urls = parts.flatMap((part) => urlOf(part) ?? []);
  const [first] = urls;
  if (urls.some((url) => !followsFirst(url, first!)))
    return 'must have one scheme, one user and password, and one database for all URLs; give the last three only in the first';
  if (urls.some(({ search }) => search !== '')) return `must have no ?options with REDIS_MODE=${mode}`;
  if (mode === 'cluster' && urls.some((url) => databaseOf(url) !== 0))
    return 'must name no database with REDIS_MODE=cluster, which has only database 0; remove the path';
  return undefined;
}

/** Returns whether a URL has the first URL's scheme, and its credentials and database or none. */
function followsFirst(url: URL, first: URL): boolean {
  const credentials = ({ username, password }: URL) => `${username}:${password}`;
  const isOneUser = credentials(url) === ':' || credentials(url) === credentials(first);
  const isOneDatabase = url.pathname.length <= 1 || databaseOf(url) === databaseOf(first);
  return url.protocol === first.protocol && isOneUser && isOneDatabase;
}

/** Servers of a cluster, or sentinels, and their common settings. */
export interface RedisServers {
  hosts: { host: string; port: number }[];
  /** Empty if not set. */
  username: string;
  password: string;
  database: number;
  isTls: boolean;
}

/** Returns the servers in valid URLs. A URL without a port gets `defaultPort`. */
export function redisServers(text: string, defaultPort: number): RedisServers {
  const urls = partsOf(text).map((part) => new URL(part));
  const first = urls[0]!;
  return {
    // Remove the brackets of an IPv6 address.
    hosts: urls.map(({ hostname, port }) => ({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port || defaultPort),
    })),
    username: decodeURIComponent(first.username),
    password: decodeURIComponent(first.password),
    database: databaseOf(first),
    isTls: first.protocol === 'rediss:',
  };
}

/** Splits only before complete URLs, because a password may contain a comma. */
function partsOf(text: string): string[] {
  return text.split(/,\s*(?=rediss?:)/i).map((part) => part.trim());
}

/** Returns a part as a URL, or undefined if it is no valid Redis URL. */
function urlOf(part: string): URL | undefined {
  if (!/^rediss?:\/\//i.test(part)) return undefined;
  try {
    const url = new URL(part);
    decodeURIComponent(url.username + url.password);
    const isSound = url.hostname !== '' && !url.hostname.includes(',') && /^(?:\/\d*)?$/.test(url.pathname);
    return isSound ? url : undefined;
  } catch {
    return undefined;
  }
}

function databaseOf({ pathname }: URL): number {
  return Number(pathname.slice(1));
}
