import type { AuditEntry } from '@customer-platform/contracts/accounts';
import type { DeadRecord } from '@customer-platform/contracts/core';
import type { PrefetchCall } from '@customer-platform/service-kit';
import { recordAround } from '../audit/record-change.ts';
import type { Place } from '../services.ts';
import { noSuchDeadEvent } from './find-dead-event.ts';

/** Changes one dead event in its service, and records that. Throws 404 where somebody else was first. */
export async function changeDeadEvent(
  call: PrefetchCall,
  { place, dead }: { place: Place; dead: DeadRecord },
  action: AuditEntry['action'],
  change: () => Promise<{ matched: number; after?: Record<string, unknown> }>,
): Promise<void> {
  const { id, queue, account, kind, subject } = dead;
  const target = `${place.service}/${queue}`;
  await recordAround(call, { action, target, account: account ?? undefined }, async () => {
    const { matched, after } = await change();
    if (matched === 0) throw noSuchDeadEvent();
    return {
      isChanged: true,
      result: undefined,
      before: { id, subject, ...(kind && { kind }) },
      ...(after && { after }),
    };
  });
}
