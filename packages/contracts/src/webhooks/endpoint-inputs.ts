import { z } from 'zod';
import { clearable, text } from '../core/fields.ts';
import { eventFilter } from './event-kinds.ts';

const events = z
  .array(eventFilter)
  .min(1)
  .max(100)
  .meta({ description: 'Event kinds, families such as `order.*`, or `*` for all.' });
const url = text(2_048, 1).meta({
  format: 'uri',
  description: 'A public https URL; http is accepted only for address ranges that the operator has allowed.',
});
const description = text(500);

export const EndpointInput = z.object({
  url,
  description: description.default(''),
  events: events.default(['*']),
  active: z.boolean().default(true),
});

export const EndpointChange = z.object({
  url: url.optional(),
  description: clearable(description, ''),
  events: events.optional(),
  active: z.boolean().optional(),
  paused: z.boolean().optional(),
});
