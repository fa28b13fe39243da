import { z } from 'zod';

const example = 'redis://:password@host:6379';

/** Settings of the gateway's Redis. What depends on several of them is checked by `checkRedisSettings`. */
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
        'Redis for rate limits, such as redis://127.0.0.1:6379, with rediss:// for TLS; of a cluster some of its servers, of sentinels these, each a whole URL, separated by commas. User and password of the first are used for all.',
    }),
  REDIS_MODE: z.enum(['single', 'cluster', 'sentinel']).default('single').meta({
    description:
      'What REDIS_URL names: single is one Redis, cluster servers of a Redis Cluster, sentinel Sentinels that know where the master is.',
  }),
  REDIS_SENTINEL_NAME: z
    .string()
    .default('mymaster')
    .meta({ description: "The sentinels' name of the master, with REDIS_MODE=sentinel." }),
  REDIS_SENTINEL_PASSWORD: z.string().optional().meta({
    description: "The sentinels' own password, with REDIS_MODE=sentinel; default: the one in REDIS_URL.",
  }),
  REDIS_PREFIX: z
    .string()
    .default('platform')
    .meta({ description: 'First part of every Redis key: separates installations on one Redis.' }),
  REDIS_TIMEOUT_MS: z.coerce
    .number()
    .int()
    .min(5)
    .max(10_000)
    .default(50)
    .meta({ description: 'How long a request waits for Redis before its gateway limits by itself, in milliseconds.' }),
};

export type RedisSettings = z.output<z.ZodObject<typeof redisSettings>>;

/** Adds an issue, by the name of a setting, for each that contradicts another. */
export function checkRedisSettings(settings: RedisSettings, context: z.RefinementCtx): void {
  const { REDIS_URL, REDIS_MODE, REDIS_PREFIX, REDIS_SENTINEL_PASSWORD } = settings;
  const add = (name: keyof RedisSettings, message: string) =>
    context.addIssue({ code: 'custom', path: [name], message });
  const contradiction = contradictionIn(partsOf(REDIS_URL), REDIS_MODE);
  if (contradiction) add('REDIS_URL', contradiction);
  if (REDIS_MODE === 'cluster' && /[{}]/.test(REDIS_PREFIX))
    add('REDIS_PREFIX', 'must have no { and no } with REDIS_MODE=cluster, where they decide on which server a key is');
  if (REDIS_MODE !== 'sentinel' && REDIS_SENTINEL_PASSWORD !== undefined)
    add('REDIS_SENTINEL_PASSWORD', `must be left out with REDIS_MODE=${REDIS_MODE}, or REDIS_MODE must be sentinel`);
}

/** Returns what is wrong with sound URLs in a mode, undefined if nothing is. */
function contradictionIn(parts: string[], mode: RedisSettings['REDIS_MODE']): string | undefined {
  if (mode === 'single') {
    if (parts.length === 1) return undefined;
    return `must be one URL with REDIS_MODE=single and is ${parts.length}; for several, set REDIS_MODE to cluster or sentinel`;
  }
  const urls = parts.flatMap((part) => urlOf(part) ?? []);
  const [first] = urls;
  if (urls.some((url) => !followsFirst(url, first!)))
    return 'must have one scheme, one user and password, and one database for all of its URLs: write the latter into the first alone';
  if (urls.some(({ search }) => search !== '')) return `must have no ?options with REDIS_MODE=${mode}`;
  if (mode === 'cluster' && urls.some((url) => databaseOf(url) !== 0))
    return 'must name no database with REDIS_MODE=cluster, which has number 0 alone: leave the path out';
  return undefined;
}

/** Returns whether a URL says the same as the first but for its server, or nothing. */
function followsFirst(url: URL, first: URL): boolean {
  const credentials = ({ username, password }: URL) => `${username}:${password}`;
  const isOneUser = credentials(url) === ':' || credentials(url) === credentials(first);
  const isOneDatabase = url.pathname.length <= 1 || databaseOf(url) === databaseOf(first);
  return url.protocol === first.protocol && isOneUser && isOneDatabase;
}

/** Servers of a cluster, or sentinels, and what all of them have in common. */
export interface RedisServers {
  hosts: { host: string; port: number }[];
  /** Empty without one. */
  username: string;
  password: string;
  database: number;
  isTls: boolean;
}

/** Returns what checked URLs say; a URL without a port has `defaultPort`. */
export function redisServers(text: string, defaultPort: number): RedisServers {
  const urls = partsOf(text).map((part) => new URL(part));
  const first = urls[0]!;
  return {
    // The brackets of an IPv6 address belong to the URL.
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

/** Splits before whole URLs alone: a password may have a comma. */
function partsOf(text: string): string[] {
  return text.split(/,\s*(?=rediss?:)/i).map((part) => part.trim());
}

/** Returns a part as a URL, undefined if it is none of a Redis. */
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
