import { deliveryStatus } from '@customer-platform/contracts/webhooks';
import {
  allowedRangesSetting,
  createNameResolver,
  createPoster,
  parsed,
  parseSecretKeys,
  type SecretKeys,
  type TargetGuard,
} from '@customer-platform/outbound';
import { baseConfig, type Foundation, implementer, meter } from '@customer-platform/service-kit';
import { z } from 'zod';
import { Dispatcher } from './delivery/dispatcher.ts';
import { parseRetrySchedule, type RetrySchedule } from './delivery/retry-schedule.ts';
import { countUnaccounted, oldestDueAgeSeconds } from './events/events.sql.ts';

/** The settings of this service. */
export const webhooksConfig = baseConfig.extend({
  WEBHOOKS_SECRET_KEY: parsed(parseSecretKeys).meta({
    description: 'Encrypts signing secrets: base64 of 32 bytes; to rotate, 2:<new>,1:<old>.',
  }),
  WEBHOOKS_ALLOWED_RANGES: allowedRangesSetting,
  WEBHOOKS_RETRY_SCHEDULE: parsed(parseRetrySchedule)
    .default(parseRetrySchedule('0,5s,5m,30m,2h,5h,10h,14h,20h,24h'))
    .meta({ description: 'The waits before each try of a delivery, such as 0,5s,5m.' }),
  WEBHOOKS_TIMEOUT_MS: z.coerce.number().int().min(100).max(60_000).default(15_000).meta({
    description: 'One deadline over name look-up, connection, TLS, headers and body of a try.',
  }),
  WEBHOOKS_MAX_PER_ENDPOINT: z.coerce.number().int().min(1).max(100).default(10).meta({
    description: 'Tries under way at most to one endpoint.',
  }),
  WEBHOOKS_MAX_IN_FLIGHT: z.coerce.number().int().min(1).max(2000).default(256).meta({
    description: 'Tries under way at most that began within the last second; four times as many in all.',
  }),
});
type WebhooksConfig = z.output<typeof webhooksConfig>;

/** What this service's operations, consumers and jobs share. */
export type WebhookResources = {
  guard: TargetGuard;
  secretKeys: SecretKeys;
  schedule: RetrySchedule;
  dispatcher: Dispatcher;
  eventsCommitted(): void;
};

/** The `implement` of this service. */
export const implement = implementer<WebhookResources>();

const balanceWindowMs = 5 * 60_000;
/** Younger events may still be in a transaction. */
const balanceLagMs = 30_000;

/** Starts the dispatcher and what it needs; `stop` ends it after the tries under way. */
export async function makeResources(foundation: Foundation<WebhooksConfig>) {
  const { config, sql, log, clock, accounts, eventsCommitted } = foundation;
  const { WEBHOOKS_SECRET_KEY: secretKeys, WEBHOOKS_RETRY_SCHEDULE: schedule } = config;
  const guard: TargetGuard = { allowedRanges: config.WEBHOOKS_ALLOWED_RANGES, resolve: createNameResolver(5000) };
  const poster = createPoster({
    ...guard,
    timeoutMs: config.WEBHOOKS_TIMEOUT_MS,
    maxSocketsPerPool: config.WEBHOOKS_MAX_PER_ENDPOINT,
    maxSockets: config.WEBHOOKS_MAX_IN_FLIGHT * 6,
  });
  const dispatcher = new Dispatcher({
    sql,
    log,
    clock,
    poster,
    accounts,
    schedule,
    secretKeys,
    maxPerEndpoint: config.WEBHOOKS_MAX_PER_ENDPOINT,
    maxInFlight: config.WEBHOOKS_MAX_IN_FLIGHT,
  });
  observe(foundation);
  return {
    guard,
    secretKeys,
    schedule,
    dispatcher,
    eventsCommitted,
    async stop() {
      await dispatcher.stop();
      await poster.close();
    },
  };
}

function observe({ sql, clock }: Foundation<WebhooksConfig>): void {
  const unaccounted = meter.createObservableGauge('webhooks.unaccounted', {
    description:
      'Deliveries that events of the last minutes should have had and that are in no state: 0, or something is lost.',
  });
  const states = meter.createObservableGauge('webhooks.deliveries', {
    description: 'Deliveries of the last minutes, by state.',
  });
  const oldest = meter.createObservableGauge('webhooks.oldest_due_age', {
    unit: 's',
    description: 'How long the delivery that is due for longest has been.',
  });
  meter.addBatchObservableCallback(
    async (result) => {
      const until = clock().getTime() - balanceLagMs;
      const balance = await countUnaccounted(sql, new Date(until - balanceWindowMs), new Date(until));
      result.observe(unaccounted, balance.unaccounted);
      for (const status of deliveryStatus.options) result.observe(states, balance.byStatus[status] ?? 0, { status });
      result.observe(oldest, await oldestDueAgeSeconds(sql, clock()));
    },
    [unaccounted, states, oldest],
  );
}
