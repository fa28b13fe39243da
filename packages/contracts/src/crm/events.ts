import { z } from 'zod';
import { eventsOf, previous } from '../core/event.ts';
import { Deal } from './resources.ts';

const { publicEvent, internalEvent } = eventsOf('crm');
const changed = z.object({ deal: Deal, previous });

export const dealCreated = publicEvent('deal.created', z.object({ deal: Deal }));
export const dealUpdated = publicEvent('deal.updated', changed);
export const dealStageChanged = publicEvent('deal.stage_changed', changed);
export const dealWon = publicEvent('deal.won', changed);
export const dealLost = publicEvent('deal.lost', changed.extend({ reason: z.string() }));
export const dealReopened = publicEvent('deal.reopened', changed);

/** A deal was deleted; other modules drop their references to it. */
export const dealDeleted = internalEvent('deal.deleted', z.object({ deal: z.object({ id: z.guid() }) }));
