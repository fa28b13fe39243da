import { adminOperations } from '@customer-platform/contracts/accounts';
import { ApiError, operatorRequests, type ServiceName, serviceNames } from '@customer-platform/contracts/core';
import { publishedRetentionMs, serviceUnavailable } from '@customer-platform/service-kit';
import { implement } from '../admin-operation.ts';
import { recordAround } from '../audit/record-change.ts';

/** Timeout of a service's count of its published events. */
const timeoutMs = 10_000;

/**
 * Publishes events since an instant again, of all services or of one. Consumers skip those that they have. If a service
 * does not respond, the others have begun all the same; a retry is harmless.
 */
export const republishEvents = implement(adminOperations.republishEvents, {
  async handle({ body: { since, service }, account, now, resources, prefetch }) {
    if (since > now) return { matched: 0 };
    if (since.getTime() < now.getTime() - publishedRetentionMs) {
      const message = 'since must be at most 7 days ago; published events are kept for 7 days';
      throw new ApiError('invalid_request', message, { field: 'since' });
    }
    const ask = async (name: ServiceName) => {
      const input = { since: since.toISOString() };
      return (await resources.bus.ask(operatorRequests(name).republishEvents, account.id, input, timeoutMs)).matched;
    };
    const change = { action: 'events.republish' as const, target: service ?? 'all services' };
    const matched = prefetch((call) =>
      recordAround(call, change, async () => {
        const sum = await askEach(service ? [service] : serviceNames, ask);
        return { isChanged: sum > 0, result: sum, after: { since: since.toISOString(), matched: sum } };
      }),
    );
    return { matched };
  },
});

/** Returns the number of matching events; throws 503 naming the services that do not respond. */
async function askEach(
  services: readonly ServiceName[],
  ask: (service: ServiceName) => Promise<number>,
): Promise<number> {
  const results = await Promise.allSettled(services.map(ask));
  const silent = services.filter((_, index) => results[index]!.status === 'rejected');
  if (silent.length > 0)
    throw serviceUnavailable(`${silent.join(', ')} did not respond; try again once they are running`);
  return results.reduce((sum, result) => sum + (result.status === 'fulfilled' ? result.value : 0), 0);
}
