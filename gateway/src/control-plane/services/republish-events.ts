import { adminOperations } from '@customer-platform/contracts/accounts';
import { ApiError, type ServiceName, serviceNames } from '@customer-platform/contracts/core';
import { publishedRetentionMs, serviceUnavailable } from '@customer-platform/service-kit';
import { implement } from '../admin-operation.ts';
import { recordAround } from '../audit/record-change.ts';
import type { Services } from '../services.ts';

/** Events that are asked for: of one service or of all, in one cell or in all. */
interface Asked {
  since: Date;
  service?: ServiceName | undefined;
  cell?: string | undefined;
}

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
    const change = { action: 'events.republish' as const, target: service ?? 'all services' };
    const matched = prefetch((call) =>
      recordAround(call, change, async () => {
        const sum = await republishOf(resources.services, { since, service, cell });
        return {
          isChanged: sum > 0,
          result: sum,
          after: { since: since.toISOString(), matched: sum, ...(cell && { cell }) },
        };
      }),
    );
    return { matched };
  },
});

/** Returns the number of matching events; throws 503 naming the services that do not respond. */
async function republishOf(services: Services, { since, service, cell }: Asked): Promise<number> {
  // The gateway's own events go to every cell, from one outbox: what another cell has of them is taken once all the same.
  const places = (service ? [service] : serviceNames).flatMap((name) =>
    name === 'gateway' ? [services.place(name, cell)] : services.places([name], cell),
  );
  const input = { since: since.toISOString() };
  const { replies, gone } = await services.askEach('republishEvents', input, places, 'change');
  if (gone.length > 0) {
    const silent = gone.map((place) => place.service).join(', ');
    throw serviceUnavailable(`${silent} did not respond; try again once they are running`);
  }
  return replies.reduce((sum, { reply }) => sum + reply.matched, 0);
}
