import { Redis } from 'ioredis';

/**
 * GCRA for any number of requests in one script: all that is kept of a key is the instant until which its bucket is
 * spent, in microseconds of Redis's own clock, so that all gateways agree. Each bucket has three arguments (interval,
 * burst, cost) and gets one BucketState.
 */
const takeScript = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local states = {}
for i, bucket in ipairs(KEYS) do
  local interval, burst, cost = tonumber(ARGV[i * 3 - 2]), tonumber(ARGV[i * 3 - 1]), ARGV[i * 3]
  local spent = tonumber(redis.call('GET', bucket) or 0)
  if spent < now then spent = now end
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
 * Counts one more within the last ARGV[1] microseconds and returns the count, which is reset once it reaches ARGV[2].
 */
const countScript = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - tonumber(ARGV[1]))
redis.call('ZADD', KEYS[1], now, string.format('%.0f', now) .. ARGV[3])
redis.call('PEXPIRE', KEYS[1], math.ceil(tonumber(ARGV[1]) / 1000))
local count = redis.call('ZCARD', KEYS[1])
if count >= tonumber(ARGV[2]) then redis.call('DEL', KEYS[1]) end
return count`;

/** Redis with the gateway's two scripts. */
export type GatewayRedis = Redis & {
  /** Takes the number of buckets, their names, then interval, burst and cost of each. */
  takeRequests(count: number, ...bucketsAndArguments: string[]): Promise<number[]>;
  countWithin(key: string, windowUs: number, limit: number, distinct: string): Promise<number>;
  /** Longest wait for a reply from Redis, in milliseconds; then each gateway limits by itself. */
  timeoutMs: number;
};

/**
 * Connects without waiting. A command that cannot be sent now, or has no reply within `timeoutMs`, fails and is not
 * sent again: a request never waits for Redis. The connection itself is retried forever.
 */
export function openRedis(url: string, prefix: string, timeoutMs: number): GatewayRedis {
  const redis = new Redis(url, {
    keyPrefix: `${prefix}:`,
    enableOfflineQueue: false,
    connectTimeout: 1_000,
    disconnectTimeout: 200,
    maxRetriesPerRequest: 0,
    // A connection that is silent after a command is dialled again.
    socketTimeout: 2_000,
    autoResendUnfulfilledCommands: false,
    retryStrategy: (times) => Math.min(50 * times, 500),
    scripts: {
      takeRequests: { lua: takeScript },
      countWithin: { lua: countScript, numberOfKeys: 1 },
    },
  });
  return Object.assign(redis, { timeoutMs }) as GatewayRedis;
}
