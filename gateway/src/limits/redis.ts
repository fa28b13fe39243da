import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { type RedisSettings, redisServers } from './redis-settings.ts';

/**
 * GCRA for any number of requests in one script. Of a key Redis stores only the instant at which its bucket is full again, in microseconds. The
 * instant uses Redis's clock, so all gateways agree. Each bucket has three arguments (interval, burst, cost) and gets one BucketState. If the clock
 * goes back, for example in a failover to a replica with a slow clock, a stored instant may be too late. The script then treats the bucket as empty,
 * or it would refuse the key until the clock catches up.
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
 * Increments KEYS[1], which expires ARGV[1] ms after the first increment. In the hash KEYS[2], counts the address ARGV[2], with the time ARGV[3] and
 * the highest count. The hash has at most 5,000 addresses and expires in an hour. Returns the count and the milliseconds until KEYS[1] expires.
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
 * Holds one of at most ARGV[2] slots for ARGV[1] microseconds under the name ARGV[3], or renews its lease. Returns 0 if all slots are held.
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
 * Number of shards of a cluster's buckets. Each shard is one slot, because all keys of a script must share a slot. Each
 * shard in use costs at least one script per tick, so there are few. Up to nine masters get a fair share each.
 */
const clusterShards = 16;

/** The commands and state of Redis that the gateway uses, for all Redis modes. */
export interface GatewayRedis {
  /** `ready` while connected; in a cluster, while its slot map is known. */
  readonly status: string;
  /** Number of shards of the buckets, which may be unavailable separately. 1 except in a cluster. */
  readonly shards: number;
  /** Longest wait for a reply from Redis, in milliseconds. After it, each gateway limits its share. */
  readonly timeoutMs: number;
  /** Takes the number of buckets, their names, then interval, burst and cost of each. In a cluster all belong to one shard. */
  takeRequests(count: number, ...bucketsAndArguments: string[]): Promise<number[]>;
  /** Counts an invalid key of an address under a name and in a hash. Returns the count and the milliseconds until it expires. */
  countInvalid(key: string, hash: string, windowMs: number, address: string, nowMs: number): Promise<[number, number]>;
  hgetall(key: string): Promise<Record<string, string>>;
  /** Holds one of `most` slots for `leaseUs`, or renews it. Returns 1, or 0 if all slots are held. */
  holdSlot(key: string, leaseUs: number, most: number, holder: string): Promise<number>;
  zrem(key: string, member: string): Promise<number>;
  disconnect(): void;
}

/** Returns the prefix of a shard's buckets in a cluster. Hexadecimal digits spread better over few masters than decimal ones. */
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
  // Reconnect if the server is silent after a command.
  socketTimeout: 2_000,
  autoResendUnfulfilledCommands: false,
} satisfies RedisOptions;

const retryDelayMs = (times: number) => Math.min(50 * times, 500);

/**
 * Opens Redis without waiting for the connection. A command fails if it cannot be sent now, or has no reply within
 * REDIS_TIMEOUT_MS. It is not retried, so no request waits longer. Reconnects forever; `report` gets the errors.
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
    // The master became a replica while this connection stayed open. A new connection may reach its successor.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  } satisfies RedisOptions;
}

function openSingle(settings: RedisSettings): Redis {
  // ioredis recognizes TLS only by a scheme in lower case.
  const url = settings.REDIS_URL.trim().replace(/^rediss?:/i, (scheme) => scheme.toLowerCase());
  return new Redis(url, serverOptions(settings));
}

/** Connects to the sentinels' master. A master that becomes a replica closes its connections; each new one asks the sentinels again. */
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
    // Use the available part of a cluster if another part is unavailable.
    enableReadyCheck: false,
    clusterRetryStrategy: retryDelayMs,
    // Keep host names: certificates contain them, and addresses of restarted servers change.
    dnsLookup: (host, done) => done(null, host),
    slotsRefreshTimeout: connectTimeoutMs,
    // After MOVED, ASK, TRYAGAIN and CLUSTERDOWN a command was not executed, so it may be sent again.
    maxRedirections: 3,
    retryDelayOnTryAgain: 0,
    // After a lost connection a command may have been executed, so it is not sent again.
    retryDelayOnFailover: 0,
    redisOptions: {
      ...connection,
      ...(username === '' ? {} : { username }),
      ...(password === '' ? {} : { password }),
      ...(isTls ? { tls: {} } : {}),
    },
  });
  // Connect each node in advance: a first command would wait for its connection beyond its timeout. Errors arrive as 'node error'.
  const dial = (node: Redis) => {
    if (node.status === 'wait') node.connect().catch(() => undefined);
  };
  cluster.on('ready', () => cluster.nodes().forEach(dial));
  cluster.on('+node', (node: Redis) => {
    if (cluster.status === 'ready') dial(node);
  });
  return cluster;
}
