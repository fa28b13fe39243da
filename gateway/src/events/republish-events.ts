import { adminOperations } from '@customer-platform/contracts/accounts';
import { ApiError } from '@customer-platform/contracts/core';
import { publishedRetentionMs, serviceUnavailable } from '@customer-platform/service-kit';
import { implement } from '../admin-operation.ts';
import { recordAround } from '../audit/record-change.ts';
import type { Place } from '../operators/services.ts';

/**
 * Publishes events since an instant again, of all services or of one. Consumers skip those that they have. If a service
 * does not respond, the others have begun all the same; a retry is harmless.
 */
export const republishEvents = implement(adminOperations.republishEvents, {
  async handle({ body: { since, service, cell }, now, resources, prefetch }) {
    if (since > now) return { matched: 0 };
    if (since.getTime() < now.getTime() - publishedRetentionMs) {
      const message = 'since must be at most 7 days ago; published events are kept for 7 days';
      throw new ApiError('invalid_request', message, { field: 'since' });
    }
    const { services } = resources;
    const ask = async (place: Place) => {
      const input = { since: since.toISOString() };
      return (await services.ask(place, 'republishEvents', input, 'change')).matched;
    };
    const change = { action: 'events.republish' as const, target: service ?? 'all services' };
    const matched = prefetch((call) =>
      recordAround(call, change, async () => {
        const sum = await askEach(services.places(service && [service], cell), ask);
        return { isChanged: sum > 0, result: sum, after: { since: since.toISOString(), matched: sum } };
      }),
    );
    return { matched };
  },
});

/** Returns the number of matching events; throws 503 naming the services that do not respond. */
async function askEach(places: readonly Place[], ask: (place: Place) => Promise<number>): Promise<number> {
  const results = await Promise.allSettled(places.map(ask));
  const silent = places.filter((_, index) => results[index]!.status === 'rejected').map(({ service }) => service);
  if (silent.length > 0)
    throw serviceUnavailable(`${silent.join(', ')} did not respond; try again once they are running`);
  return results.reduce((sum, result) => sum + (result.status === 'fulfilled' ? result.value : 0), 0);
}
