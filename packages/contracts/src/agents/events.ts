import { z } from 'zod';
import { eventsOf, previous } from '../core/event.ts';
import { KnowledgeSource } from './knowledge.ts';
import { Plan } from './plans.ts';

const { publicEvent } = eventsOf('agents');
const source = z.object({ source: KnowledgeSource, previous });
const changed = z.object({ plan: Plan, previous });

/** A source was read; agents use it from now on. */
export const knowledgeReady = publicEvent('knowledge.ready', source);
export const knowledgeFailed = publicEvent('knowledge.failed', source);

/** A plan was made that needs a decision, on the whole or on a step. */
export const planAwaitingApproval = publicEvent('plan.awaiting_approval', changed);
export const planApproved = publicEvent('plan.approved', changed);
export const planRejected = publicEvent('plan.rejected', changed);
export const planExpired = publicEvent('plan.expired', changed);
export const planCompleted = publicEvent('plan.completed', changed);
export const planFailed = publicEvent('plan.failed', changed);
