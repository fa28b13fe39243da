import { z } from 'zod';
import { integerId } from '../core/fields.ts';
import { internalRequest } from '../core/request.ts';
import { Deal, Pipeline } from './resources.ts';

/** Returns a deal by id, with its times in UTC; null if the account has no such deal. */
export const getDealSummary = internalRequest(
  'getDealSummary',
  'crm',
  z.object({ deal: z.guid() }),
  z.object({ deal: Deal.nullable() }),
);

/** A deal with its number within the account. */
export const NumberedDeal = Deal.extend({ number: z.int() }).meta({ id: 'NumberedDeal' });
export type NumberedDeal = z.infer<typeof NumberedDeal>;

/** Returns a contact's newest open deal in one of these pipelines, with times in UTC; null if it has none. */
export const findOpenDeal = internalRequest(
  'findOpenDeal',
  'crm',
  z.object({ contact: z.guid(), pipelines: z.array(integerId) }),
  z.object({ deal: NumberedDeal.nullable() }),
);

/** Returns the pipelines and stages that exist among these ids. Pipelines have all their stages, or none if `namesOnly` is set. */
export const findStages = internalRequest(
  'findStages',
  'crm',
  z.object({ pipelines: z.array(integerId), stages: z.array(integerId), namesOnly: z.boolean().optional() }),
  z.object({
    pipelines: z.array(Pipeline),
    stages: z.array(z.object({ id: integerId, name: z.string(), pipeline: integerId })),
  }),
);

/** `refusal` says in a sentence why the deal was not changed. It is null if this request, or an earlier one with its key, changed it. */
const outcome = z.object({ refusal: z.string().nullable() });

/**
 * Adds a paragraph to a deal's notes. `key` makes the request idempotent: the caller repeats it until a reply arrives.
 */
export const addDealNote = internalRequest(
  'addDealNote',
  'crm',
  z.object({ key: z.guid(), deal: z.guid(), body: z.string() }),
  outcome,
);

/** Moves an open deal to a stage of its pipeline; a deal already in that stage does not change. `key` works as in addDealNote. */
export const moveDealToStage = internalRequest(
  'moveDealToStage',
  'crm',
  z.object({ key: z.guid(), deal: z.guid(), stage: integerId }),
  outcome,
);
