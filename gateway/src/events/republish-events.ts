import { adminOperations } from '@customer-platform/contracts/accounts';
import { ApiError, type ServiceName, serviceNames } from '@customer-platform/contracts/core';
import { publishedRetentionMs, serviceUnavailable } from '@customer-platform/service-kit';
import { implement } from '../admin-operation.ts';

/**
 * Sends what was published since an instant to the bus again: of all services, or of one. Consumers have seen most of it and take only what
 * they lack. Where a service does not answer the rest has begun; asking again is harmless.
 */
export const republishEvents = implement(adminOperations.republishEvents, {
  async handle({ body: { since, service }, now, resources, prefetch }) {
    if (since > now) return { matched: 0 };
    if (since.getTime() < now.getTime() - publishedRetentionMs) {
      const message = 'since must be at most 7 days ago; published events are kept for 7 days';
      throw new ApiError('invalid_request', message, { field: 'since' });
    }
    const matched = prefetch(() => askEach(service ? [service] : serviceNames, since, resources.republish));
    return { matched };
  },
});

/** How many events match in all; throws 503 naming the services that do not answer. */
async function askEach(
  services: readonly ServiceName[],
  since: Date,
  ask: (service: ServiceName, since: Date) => Promise<number>,
): Promise<number> {
  const results = await Promise.allSettled(services.map((service) => ask(service, since)));
  const silent = services.filter((_, index) => results[index]!.status === 'rejected');
  if (silent.length > 0)
    throw serviceUnavailable(`${silent.join(', ')} did not respond; try again once they are running`);
  return results.reduce((sum, result) => sum + (result.status === 'fulfilled' ? result.value : 0), 0);
}
