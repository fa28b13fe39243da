import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { type RedisSettings, redisServers } from './redis-settings.ts';

/**
 * GCRA for any number of requests in one script: all that is kept of a key is the instant until which its bucket is
 * spent, in microseconds of Redis's own clock, so that all gateways agree. Each bucket has three arguments (interval,
 * burst, cost) and gets one BucketState. A bucket that is spent for longer than it can be, since the clock went back (a
 * replica's, in a failover, may be behind), counts as empty: its key would be refused until the clock is where it was.
 */
const takeScript = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local states = {}
for i, bucket in ipairs(KEYS) do
  local interval, burst, cost = tonumber(ARGV[i * 3 - 2]), tonumber(ARGV[i * 3 - 1]), ARGV[i * 3]
  local spent = tonumber(redis.call('GET', bucket) or 0)
  if spent < now then spent = now end
  local latest = now + interval * burst
  if spent > latest + 1000 then
    spent = latest
    redis.call('SET', bucket, string.format('%.0f', spent), 'PX', math.ceil((spent - now) / 1000) + 1)
  end
  spent = spent + interval * tonumber(cost)
  local wait = spent - interval * burst - now
  if wait > 1 then
    states[i] = -math.ceil(wait)
  else
    if cost == '1' then
      redis.call('SET', bucket, string.format('%.0f', spent), 'PX', math.ceil((spent - now) / 1000) + 1)
    end
    states[i] = math.floor(spent - now)
  end
end
return states`;

/**
 * Counts one more under KEYS[1], which is forgotten ARGV[1] ms after the first, and in the hash KEYS[2] for the address ARGV[2], with the time
 * ARGV[3] and the greatest count; the hash is kept for an hour, with 5,000 addresses. Returns the count and the milliseconds until it is forgotten.
 */
const countInvalidScript = `
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
local known = redis.call('HGET', KEYS[2], ARGV[2])
if known or redis.call('HLEN', KEYS[2]) < 5000 then
  local before = known and tonumber(string.match(known, '^%d+')) or 0
  local most = known and tonumber(string.match(known, '^%d+ %d+ (%d+)')) or 0
  redis.call('HSET', KEYS[2], ARGV[2], string.format('%d %s %d', before + 1, ARGV[3], math.max(most, count)))
  redis.call('EXPIRE', KEYS[2], 3600)
end
return { count, redis.call('PTTL', KEYS[1]) }`;

/**
 * Holds one of at most ARGV[2] slots for ARGV[1] microseconds under the name ARGV[3], again where that has it; returns 0 where all are held.
 */
const holdScript = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local isHeld = redis.call('ZSCORE', KEYS[1], ARGV[3])
if not isHeld and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], string.format('%.0f', now + tonumber(ARGV[1])), ARGV[3])
redis.call('PEXPIRE', KEYS[1], math.ceil(tonumber(ARGV[1]) / 1000))
return 1`;

/**
 * Parts into which the buckets of a cluster are divided, each in one slot: a script's keys have to be. A tick sends at most
 * one script a part, so few of them; up to nine masters get a fair part each.
 */
const clusterShards = 16;

/** Commands and state that the gateway uses of Redis, of a cluster, or of the master that sentinels name. */
export interface GatewayRedis {
  /** `ready` while connected; of a cluster, while its map of slots is known. */
  readonly status: string;
  /** Parts in which buckets are and that may be unavailable each for itself: 1 except in a cluster. */
  readonly shards: number;
  /** Longest wait for a reply from Redis, in milliseconds; then each gateway limits by itself. */
  readonly timeoutMs: number;
  /** Takes the number of buckets, their names, then interval, burst and cost of each. In a cluster all are of one shard. */
  takeRequests(count: number, ...bucketsAndArguments: string[]): Promise<number[]>;
  /** Counts an invalid key of an address under a name and in a hash; returns the count and the milliseconds until it is forgotten. */
  countInvalid(key: string, hash: string, windowMs: number, address: string, nowMs: number): Promise<[number, number]>;
  hgetall(key: string): Promise<Record<string, string>>;
  /** Holds one of `most` slots for some time, or goes on holding it; returns 1, or 0 where all are held. */
  holdSlot(key: string, leaseUs: number, most: number, holder: string): Promise<number>;
  zrem(key: string, member: string): Promise<number>;
  disconnect(): void;
}

/** Returns what begins the name of a shard's buckets in a cluster: digits a to f too spread better over few masters. */
export function shardTag(shard: number): string {
  return `{${shard.toString(16)}}:`;
}

const scripts = {
  takeRequests: { lua: takeScript },
  countInvalid: { lua: countInvalidScript, numberOfKeys: 2 },
  holdSlot: { lua: holdScript, numberOfKeys: 1 },
};

const connectTimeoutMs = 1_000;

const connection = {
  connectTimeout: connectTimeoutMs,
  disconnectTimeout: 200,
  maxRetriesPerRequest: 0,
  // A connection that is silent after a command is dialled again.
  socketTimeout: 2_000,
  autoResendUnfulfilledCommands: false,
} satisfies RedisOptions;

const retryDelayMs = (times: number) => Math.min(50 * times, 500);

/**
 * Connects without waiting. A command that cannot be sent now, or has no reply within REDIS_TIMEOUT_MS, fails and is not
 * sent again: a request never waits for Redis. The connection itself is retried forever; `report` gets its errors.
 */
export function openRedis(settings: RedisSettings, report: (error: unknown) => void): GatewayRedis {
  const { REDIS_MODE, REDIS_TIMEOUT_MS } = settings;
  const open = { single: openSingle, cluster: openCluster, sentinel: openBySentinels };
  const redis = open[REDIS_MODE](settings);
  redis.on('error', report);
  redis.on('node error', report);
  const shards = REDIS_MODE === 'cluster' ? clusterShards : 1;
  return Object.assign(redis, { timeoutMs: REDIS_TIMEOUT_MS, shards }) as unknown as GatewayRedis;
}

function serverOptions({ REDIS_PREFIX }: RedisSettings) {
  return {
    ...connection,
    scripts,
    keyPrefix: `${REDIS_PREFIX}:`,
    enableOfflineQueue: false,
    retryStrategy: retryDelayMs,
    // A master that became a replica while this connection stayed: a new one may lead to its successor.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  } satisfies RedisOptions;
}

function openSingle(settings: RedisSettings): Redis {
  // The client knows TLS by the small letters.
  const url = settings.REDIS_URL.trim().replace(/^rediss?:/i, (scheme) => scheme.toLowerCase());
  return new Redis(url, serverOptions(settings));
}

/** Connects to the master that the sentinels name; they end the connections to one that is a replica from now on, and each new one asks them again. */
function openBySentinels(settings: RedisSettings): Redis {
  const { hosts, username, password, database, isTls } = redisServers(settings.REDIS_URL, 26_379);
  const sentinelPassword = settings.REDIS_SENTINEL_PASSWORD ?? password;
  return new Redis({
    ...serverOptions(settings),
    sentinels: hosts,
    name: settings.REDIS_SENTINEL_NAME,
    db: database,
    ...(username === '' ? {} : { username }),
    ...(password === '' ? {} : { password }),
    ...(sentinelPassword === '' ? {} : { sentinelPassword }),
    ...(isTls ? { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true } : {}),
    sentinelCommandTimeout: connectTimeoutMs,
    sentinelRetryStrategy: retryDelayMs,
  });
}

function openCluster({ REDIS_URL, REDIS_PREFIX }: RedisSettings): Cluster {
  const { hosts, username, password, isTls } = redisServers(REDIS_URL, 6_379);
  const cluster = new Cluster(hosts, {
    scripts,
    keyPrefix: `${REDIS_PREFIX}:`,
    enableOfflineQueue: false,
    // A cluster of which a part is unavailable is used for the rest.
    enableReadyCheck: false,
    clusterRetryStrategy: retryDelayMs,
    // Names stay names: certificates have them, and addresses of restarted servers change.
    dnsLookup: (host, done) => done(null, host),
    slotsRefreshTimeout: connectTimeoutMs,
    // MOVED, ASK, TRYAGAIN and CLUSTERDOWN say that a command was not executed, so that it may be sent again.
    maxRedirections: 3,
    retryDelayOnTryAgain: 0,
    // After a lost connection it may have been executed, and is not sent again.
    retryDelayOnFailover: 0,
    redisOptions: {
      ...connection,
      ...(username === '' ? {} : { username }),
      ...(password === '' ? {} : { password }),
      ...(isTls ? { tls: {} } : {}),
    },
  });
  // A connection that is dialled by its first command would keep that command waiting, past its time. Errors are node errors.
  const dial = (node: Redis) => {
    if (node.status === 'wait') node.connect().catch(() => undefined);
  };
  cluster.on('ready', () => cluster.nodes().forEach(dial));
  cluster.on('+node', (node: Redis) => {
    if (cluster.status === 'ready') dial(node);
  });
  return cluster;
}
