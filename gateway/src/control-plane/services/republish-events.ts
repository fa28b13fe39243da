import { adminOperations } from '@customer-platform/contracts/accounts';
import { ApiError, type ServiceName } from '@customer-platform/contracts/core';
import { publishedRetentionMs, serviceUnavailable } from '@customer-platform/service-kit';
import { recordAround } from '../../audit/record-change.ts';
import { implement } from '../admin-operation.ts';
import type { Services } from '../services.ts';

/**
 * Republishes events since an instant, of all services or of one. Consumers skip events they already have. If a service
 * does not respond, the others have started anyway; a retry is harmless.
 */
export const republishEvents = implement(adminOperations.republishEvents, {
  async handle({ body: { since, service, reason }, now, resources, prefetch }) {
    if (since > now) return { matched: 0 };
    if (since.getTime() < now.getTime() - publishedRetentionMs) {
      const message = 'since must be at most 7 days ago; published events are kept for 7 days';
      throw new ApiError('invalid_request', message, { field: 'since' });
    }
    const change = { action: 'events.republish' as const, target: service ?? 'all services', reason };
    const matched = prefetch((call) =>
      recordAround(call, change, async () => {
        const sum = await republishOf(resources.services, since, service);
        return {
          isChanged: sum > 0,
          result: sum,
          after: { since: since.toISOString(), matched: sum },
        };
      }),
    );
    return { matched };
  },
});

/** Returns the number of matching events of one service or all. Throws 503 with the names of services that do not respond. */
async function republishOf(services: Services, since: Date, service: ServiceName | undefined): Promise<number> {
  const input = { since: since.toISOString() };
  const { replies, gone } = await services.askEach('republishEvents', input, service && [service], 'change');
  if (gone.length > 0) throw serviceUnavailable(`${gone.join(', ')} did not respond; try again once they are running`);
  return replies.reduce((sum, { reply }) => sum + reply.matched, 0);
}
