import { z } from 'zod';
import { eventsOf, previous } from '../core/event.ts';
import { Deal } from './resources.ts';

const { publicEvent, internalEvent } = eventsOf('crm');
const changed = z.object({ deal: Deal.meta({ description: 'The deal after the change.' }), previous });

export const dealCreated = publicEvent('deal.created', z.object({ deal: Deal }), 'A deal was created.');
export const dealUpdated = publicEvent(
  'deal.updated',
  changed,
  'The title, value, currency, contact or notes of a deal changed.',
);
export const dealStageChanged = publicEvent(
  'deal.stage_changed',
  changed,
  'A deal moved to another stage of its pipeline.',
);
export const dealWon = publicEvent('deal.won', changed, 'An open deal was won.');
export const dealLost = publicEvent(
  'deal.lost',
  changed.extend({ reason: z.string().meta({ description: 'The given reason; empty if there was none.' }) }),
  'An open deal was lost. The event has the reason, if one was given.',
);
export const dealReopened = publicEvent('deal.reopened', changed, 'A won or lost deal was reopened.');

export const dealDeleted = publicEvent(
  'deal.deleted',
  z.object({ deal: Deal.pick({ id: true, title: true }).meta({ description: 'The deal that was deleted.' }) }),
  'A deal was deleted.',
);
/** Internal form of `deal.deleted` for other modules, which drop their references to the deal. */
export const dealForgotten = internalEvent('deal.deleted', z.object({ deal: z.object({ id: z.guid() }) }));
