import type { DeadEvent } from '@customer-platform/contracts/accounts';
import { ApiError, type DeadRecord, type ServiceName, uuid } from '@customer-platform/contracts/core';
import { toTimestamp } from '../queues/queue-shape.ts';
import { gone, type Services } from '../services.ts';

/** Finds a dead event in whatever service has it; undefined where none has. Throws 503 where one that may have it does not reply. */
export async function findDeadEvent(services: Services, id: string) {
  if (!uuid.safeParse(id).success) return undefined;
  const { replies, gone: silent } = await services.askEach('findDeadEvent', { id });
  for (const { place, reply } of replies) if (reply.dead) return { place, dead: reply.dead };
  if (silent.length > 0) throw gone(silent[0]!);
  return undefined;
}

/** Writes a dead event as the API shows it. */
export function toDeadEvent(service: ServiceName, dead: DeadRecord): DeadEvent {
  const { id, queue, subject, account, kind, reason, tries, sizeBytes, firstAt, deadAt } = dead;
  return {
    id,
    service,
    queue,
    subject,
    ...(account && { account }),
    ...(kind && { kind }),
    reason,
    tries,
    size_bytes: sizeBytes,
    first_at: toTimestamp(firstAt),
    dead_at: toTimestamp(deadAt),
  };
}

/** The refusal of a change of a dead event that somebody else requeued or dropped meanwhile. */
export const noSuchDeadEvent = () => new ApiError('not_found', 'There is no such dead event');
