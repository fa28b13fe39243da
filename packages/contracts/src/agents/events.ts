import { z } from 'zod';
import { eventsOf, previous } from '../core/event.ts';
import { KnowledgeSource } from './knowledge.ts';
import { Plan } from './plans.ts';

const { publicEvent } = eventsOf('agents');
const source = z.object({ source: KnowledgeSource, previous });
const changed = z.object({ plan: Plan, previous });

export const knowledgeReady = publicEvent(
  'knowledge.ready',
  source,
  'A knowledge source was read. Agents use it from now on.',
);
export const knowledgeFailed = publicEvent(
  'knowledge.failed',
  source,
  'A knowledge source could not be read. Its `error` says why.',
);

export const planAwaitingApproval = publicEvent(
  'plan.awaiting_approval',
  changed,
  'An agent made a plan that needs a decision, on the whole plan or on its steps.',
);
export const planApproved = publicEvent(
  'plan.approved',
  changed,
  'A plan was approved, as a whole or with the first approval of one of its steps.',
);
export const planRejected = publicEvent(
  'plan.rejected',
  changed,
  'A plan was rejected, as a whole or step by step. None of its steps runs.',
);
export const planExpired = publicEvent(
  'plan.expired',
  changed,
  'Nobody decided on a plan in time. None of its undecided steps runs.',
);
export const planCompleted = publicEvent('plan.completed', changed, 'Every step of a plan has ended, and none failed.');
export const planFailed = publicEvent(
  'plan.failed',
  changed,
  'A plan could not be made, or one of its steps failed. Its `last_error` says why.',
);
