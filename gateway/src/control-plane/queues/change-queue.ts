import type { AuditEntry } from '@customer-platform/contracts/accounts';
import { ApiError, type QueuePart, type ServiceName } from '@customer-platform/contracts/core';
import type { PrefetchCall } from '@customer-platform/service-kit';
import { cellOfRequest } from '../../accounts/cell-of-account.ts';
import { type Done, recordAround } from '../audit/record-change.ts';
import type { Place, Services } from '../services.ts';

/** A part of a queue, as a path and a body name it. */
interface Named {
  service: ServiceName;
  queue: string;
  body: { account?: string | undefined; endpoint?: string | undefined; cell?: string | undefined };
  services: Services;
}

/** A service's reply to a change. */
type Reply = Awaited<ReturnType<typeof Services.prototype.ask<'pauseQueue'>>>;

/** Changes a part of a queue in its service, in the cell named or that of the account, and records that. Throws what it is refused with. */
export async function changeQueue(
  call: PrefetchCall,
  { service, queue, body, services }: Named,
  action: AuditEntry['action'],
  change: (place: Place, part: QueuePart) => Promise<Reply & Pick<Done<unknown>, 'after'>>,
): Promise<number> {
  const { account, endpoint } = body;
  const place = services.place(service, await call.onConnection((sql) => cellOfRequest(sql, body)));
  const part: QueuePart = { queue, ...(account && { account }), ...(endpoint && { endpoint }) };
  const target = `${service}/${queue}`;
  return await recordAround(call, { action, target, account }, async () => {
    const { matched, queues, refusal, before, after } = await change(place, part);
    if (queues) throw noSuchQueue(service, queue, queues);
    if (refusal === 'unknown_endpoint') throw new ApiError('not_found', `There is no endpoint ${endpoint}`);
    if (refusal === 'no_endpoints') {
      const message = `endpoint must be left out: ${target} has no endpoints`;
      throw new ApiError('invalid_request', message, { field: 'endpoint' });
    }
    return {
      isChanged: matched > 0,
      result: matched,
      ...(before && { before: { ...body, ...before } }),
      ...(after && { after }),
    };
  });
}

/** The refusal for a queue that is not there: it says which are. */
export function noSuchQueue(service: ServiceName, queue: string, queues: readonly string[]): ApiError {
  return new ApiError('not_found', `${service} has no queue ${queue}; it has: ${[...queues].sort().join(', ')}`);
}
