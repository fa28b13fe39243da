import { z } from 'zod';
import { eventsOf, previous } from '../core/event.ts';
import { KnowledgeSource } from './knowledge.ts';
import { Plan } from './plans.ts';

const { publicEvent } = eventsOf('agents');
const source = z.object({ source: KnowledgeSource, previous });
const changed = z.object({ plan: Plan, previous });

/** A source was read; agents use it from now on. */
export const knowledgeReady = publicEvent(
  'knowledge.ready',
  source,
  'A knowledge source was read: agents use it from now on.',
);
export const knowledgeFailed = publicEvent(
  'knowledge.failed',
  source,
  'A knowledge source could not be read; `error` says why.',
);

/** A plan was made that needs a decision, on the whole or on a step. */
export const planAwaitingApproval = publicEvent(
  'plan.awaiting_approval',
  changed,
  'An agent made a plan that a person has to decide on, as a whole or a step of it.',
);
export const planApproved = publicEvent(
  'plan.approved',
  changed,
  'A plan was approved: as a whole, or the first of its steps.',
);
export const planRejected = publicEvent(
  'plan.rejected',
  changed,
  'A plan was rejected, as a whole or step by step: nothing of it runs.',
);
export const planExpired = publicEvent(
  'plan.expired',
  changed,
  'Nobody decided on a plan in time. None of its undecided steps runs.',
);
export const planCompleted = publicEvent(
  'plan.completed',
  changed,
  'Every step of a plan has ended, and none of them failed.',
);
export const planFailed = publicEvent(
  'plan.failed',
  changed,
  'A plan could not be made, or a step of it failed; `last_error` says why.',
);
