import type { DeadEvent } from '@customer-platform/contracts/accounts';
import { call } from './api.ts';
import { queueName } from './queues.ts';
import { type Action, reasonField, reasonIn, requiredReasonField } from './ui/action.tsx';
import { bytes, countOf } from './ui/format.ts';
import { serviceNamed } from './ui/services.ts';

function describe(event: DeadEvent): string {
  const { kind, subject, size_bytes, tries } = event;
  return `One event: ${kind ?? subject}, ${bytes(size_bytes)}. ${queueName(event)} gave it up after ${countOf(tries, 'attempt')}.`;
}

/** Sends a dead event to its consumer again. */
export function requeueAction(event: DeadEvent): Action {
  return {
    title: 'Requeue dead event',
    confirm: 'Requeue',
    touches: `${describe(event)} Its attempts start over. If all of them fail, it becomes a new dead event.`,
    fields: [reasonField],
    run: async (values) => {
      await call('POST /admin/dead/{dead_id}/requeue', { params: { dead_id: event.id }, body: reasonIn(values) });
      return `Requeued 1 event for ${queueName(event)}.`;
    },
  };
}

/** Deletes a dead event. */
export function dropAction(event: DeadEvent): Action {
  return {
    title: 'Drop dead event',
    confirm: 'Drop',
    isDangerous: true,
    touches: `${describe(event)} Its data is deleted. This cannot be undone.`,
    fields: [requiredReasonField],
    run: async (values) => {
      const body = { reason: String(values.get('reason')) };
      await call('POST /admin/dead/{dead_id}/drop', { params: { dead_id: event.id }, body });
      return `Dropped 1 event of ${queueName(event)}.`;
    },
  };
}

/** Sends all dead events of a queue, or only those of an account, to its consumer again. `dead` is the number of all. */
export function requeueAllAction(of: {
  service: string;
  queue: string;
  account?: string | undefined;
  dead: number;
}): Action {
  const { queue, account, dead } = of;
  const owner = account ? ' of this account' : '';
  return {
    title: `Requeue all of ${queueName(of)}`,
    confirm: 'Requeue all',
    touches: `${countOf(dead, 'dead event')} of the queue${owner ? `. Only those${owner} are requeued` : ''}. Their attempts start over.`,
    fields: [reasonField],
    run: async (values) => {
      const service = serviceNamed(of.service)!;
      const { matched } = await call('POST /admin/dead/requeue', {
        body: { service, queue, ...(account ? { account } : {}), ...reasonIn(values) },
      });
      return `Requeued ${countOf(matched, 'event')} of ${queueName(of)}.`;
    },
  };
}
