import type { Foundation } from '@customer-platform/service-kit';
import type { ChangeFeed } from '../changes/change-feed.ts';
import { KeyCache } from '../keys/key-cache.ts';
import { UseLog } from '../keys/use-log.ts';
import { InvalidKeys } from '../limits/invalid-keys.ts';
import { LiveGateways } from '../limits/live-gateways.ts';
import { RateLimiter } from '../limits/rate-limiter.ts';
import { openRedis } from '../limits/redis.ts';
import { StreamSlots } from '../limits/stream-slots.ts';
import type { GatewayConfig } from '../settings.ts';
import type { AdmissionParts } from './admission.ts';

/** Opens what the checks of a request need. `stop` ends it, after the jobs, and writes the last uses of keys. */
export function openAdmission(
  { config, sql, bus, log, clock, dependencies }: Foundation<GatewayConfig>,
  changes: ChangeFeed,
): AdmissionParts & { slots: StreamSlots; stop(): Promise<void> } {
  const redis = openRedis(config, (error) => log.debug({ err: error }, 'Redis'));
  const gateways = new LiveGateways(bus);
  const slots = new StreamSlots(redis, gateways);
  const uses = new UseLog();
  const limiter = new RateLimiter(redis, gateways, log);
  dependencies.set('Redis', () => limiter.isRedisUnavailable());
  return {
    keys: new KeyCache(sql, changes, config.CONTEXT_SECRET),
    uses,
    invalidKeys: new InvalidKeys(redis, log, clock),
    limiter,
    clock,
    slots,
    async stop() {
      gateways.stop();
      slots.stop();
      await uses
        .save(sql)
        .catch((error: unknown) => log.warn({ err: error }, 'the last uses of keys could not be written'));
      redis.disconnect();
    },
  };
}
