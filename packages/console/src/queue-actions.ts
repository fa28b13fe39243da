import type { QueuePause } from '@customer-platform/contracts/accounts';
import { call } from './api.ts';
import type { NamedQueue } from './queues.ts';
import { type Action, reasonField, reasonIn, requiredReasonField } from './ui/action.tsx';
import { count, countOf } from './ui/format.ts';

/** A queue, or its share of an account or endpoint. `of` is the target in words. */
export interface QueueTarget extends NamedQueue {
  account?: string | null;
  endpoint?: string | null;
  of: string;
}

/** Numbers of a target's entries. */
export interface TargetDepth {
  ready: number;
  running: number;
  waiting: number;
  failed_waiting: number | null;
}

function inputOf({ service, queue, account, endpoint }: QueueTarget) {
  const part = { ...(account ? { account } : {}), ...(endpoint ? { endpoint } : {}) };
  return { params: { service, queue }, part };
}

/** Pauses a target. */
export function pauseAction(target: QueueTarget, depth: TargetDepth): Action {
  const { params, part } = inputOf(target);
  const { ready, running, waiting } = depth;
  return {
    title: `Pause ${target.of}`,
    confirm: 'Pause',
    touches: `Holds back ${countOf(ready + waiting, 'entry', 'entries')} (${count(ready)} ready, ${count(waiting)} waiting) and all new ones. ${countOf(running, 'running entry ends', 'running entries end')} as usual. Nothing fails or is lost. Due entries wait until you resume.`,
    fields: [requiredReasonField],
    run: async (values) => {
      const body = { ...part, reason: String(values.get('reason')) };
      await call('POST /admin/queues/{service}/{queue}/pause', { params, body });
      return `Paused ${target.of}. All processes follow within 1 s.`;
    },
  };
}

/** Lifts the pause of exactly this account and endpoint. */
export function resumeAction(target: QueueTarget, pause: QueuePause, depth: TargetDepth | undefined): Action {
  const { params, part } = inputOf(target);
  const released = depth ? `${countOf(depth.ready + depth.waiting, 'entry', 'entries')} can run again. ` : '';
  return {
    title: `Resume ${target.of}`,
    confirm: 'Resume',
    touches: `${released}Lifts the pause by ${pause.actor}: “${pause.reason}”. Other pauses of this queue stay.`,
    fields: [reasonField],
    run: async (values) => {
      await call('POST /admin/queues/{service}/{queue}/resume', { params, body: { ...part, ...reasonIn(values) } });
      return `Resumed ${target.of}. All processes follow within 1 s.`;
    },
  };
}

/** Makes failed entries that wait for a retry due now. */
export function retryAction(target: QueueTarget, { waiting, failed_waiting: failed }: TargetDepth): Action {
  const { params, part } = inputOf(target);
  const ofWaiting = countOf(waiting, 'waiting entry', 'waiting entries');
  const those = failed === null ? 'those' : failed === 1 ? 'the one' : `the ${count(failed)}`;
  return {
    title: `Retry ${target.of}`,
    confirm: 'Retry now',
    touches: `Of ${ofWaiting}, ${those} that ${failed === 1 ? 'waits' : 'wait'} for a retry become${failed === 1 ? 's' : ''} due now, at the usual pace. Scheduled entries keep their time.`,
    fields: [reasonField],
    run: async (values) => {
      const body = { ...part, ...reasonIn(values) };
      const { matched } = await call('POST /admin/queues/{service}/{queue}/retry', { params, body });
      return `${countOf(matched, 'entry is', 'entries are')} due now.`;
    },
  };
}
