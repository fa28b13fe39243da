import { z } from 'zod';
import { integerId } from '../core/fields.ts';
import { internalRequest } from '../core/request.ts';
import { Deal, Pipeline } from './resources.ts';

/** Asks for a deal by id, with its times in UTC; null where the account has none. */
export const getDealSummary = internalRequest(
  'getDealSummary',
  'crm',
  z.object({ deal: z.guid() }),
  z.object({ deal: Deal.nullable() }),
);

/** A deal with the number that it has within its account. */
export const NumberedDeal = Deal.extend({ number: z.int() }).meta({ id: 'NumberedDeal' });
export type NumberedDeal = z.infer<typeof NumberedDeal>;

/** Asks for the newest open deal that a contact has in one of these pipelines, with its times in UTC; null where it has none. */
export const findOpenDeal = internalRequest(
  'findOpenDeal',
  'crm',
  z.object({ contact: z.guid(), pipelines: z.array(integerId) }),
  z.object({ deal: NumberedDeal.nullable() }),
);

/** Asks which of these pipelines, each with all its stages, and which of these stages there are. */
export const findPlaces = internalRequest(
  'findPlaces',
  'crm',
  z.object({ pipelines: z.array(integerId), stages: z.array(integerId) }),
  z.object({
    pipelines: z.array(Pipeline),
    stages: z.array(z.object({ id: integerId, name: z.string(), pipeline: integerId })),
  }),
);

/** Why a deal was not changed, as a sentence; null where it was, now or before. */
const outcome = z.object({ refusal: z.string().nullable() });

/**
 * Adds a paragraph to a deal's notes. `key` is the caller's own: asked again with it, nothing more is added, so that an asker who got
 * no answer asks until it has one.
 */
export const addDealNote = internalRequest(
  'addDealNote',
  'crm',
  z.object({ key: z.guid(), deal: z.guid(), body: z.string() }),
  outcome,
);

/** Moves an open deal to a stage of its pipeline; one that is there stays. `key` as for addDealNote. */
export const moveDealToStage = internalRequest(
  'moveDealToStage',
  'crm',
  z.object({ key: z.guid(), deal: z.guid(), stage: integerId }),
  outcome,
);
