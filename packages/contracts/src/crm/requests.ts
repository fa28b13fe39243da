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

/** Returns a contact's newest open deal in one of these pipelines, with its times in UTC; null if it has none. */
export const findOpenDeal = internalRequest(
  'findOpenDeal',
  'crm',
  z.object({ contact: z.guid(), pipelines: z.array(integerId) }),
  z.object({ deal: NumberedDeal.nullable() }),
);

/** Returns which of these pipelines and which of these stages exist: pipelines with all their stages, with none if `namesOnly`. */
export const findStages = internalRequest(
  'findStages',
  'crm',
  z.object({ pipelines: z.array(integerId), stages: z.array(integerId), namesOnly: z.boolean().optional() }),
  z.object({
    pipelines: z.array(Pipeline),
    stages: z.array(z.object({ id: integerId, name: z.string(), pipeline: integerId })),
  }),
);

/** Why a deal was not changed, as a sentence; null if it was changed, by this request or an earlier one with its key. */
const outcome = z.object({ refusal: z.string().nullable() });

/**
 * Adds a paragraph to a deal's notes. `key` makes it idempotent: a caller without a reply repeats the request until it has one.
 */
export const addDealNote = internalRequest(
  'addDealNote',
  'crm',
  z.object({ key: z.guid(), deal: z.guid(), body: z.string() }),
  outcome,
);

/** Moves an open deal to a stage of its pipeline; a deal already there does not change. `key` as for addDealNote. */
export const moveDealToStage = internalRequest(
  'moveDealToStage',
  'crm',
  z.object({ key: z.guid(), deal: z.guid(), stage: integerId }),
  outcome,
);
