import { adminOperations } from '@customer-platform/contracts/accounts';
import { ApiError, type ServiceName, serviceNames } from '@customer-platform/contracts/core';
import { publishedRetentionMs, serviceUnavailable } from '@customer-platform/service-kit';
import { implement } from '../admin-operation.ts';

/**
 * Publishes events since an instant again, of all services or of one. Consumers skip those that they have. If a service
 * does not respond, the others have begun all the same; a retry is harmless.
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

/** Returns the number of matching events; throws 503 naming the services that do not respond. */
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
