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
const description = text(500).meta({ description: 'Your own note of what the endpoint is for.' });
const active = z.boolean().meta({
  description:
    'Whether events are sent to it. While it is switched off, deliveries are skipped, and pending ones fail.',
});

export const EndpointInput = z.object({
  url,
  description: description.default(''),
  events: events.default(['*']),
  active: active.default(true),
});

export const EndpointChange = z.object({
  url: url.optional(),
  description: clearable(description, '').meta({
    description: 'Your own note of what the endpoint is for; null removes it.',
  }),
  events: events.optional(),
  active: active.optional(),
  paused: z
    .boolean()
    .optional()
    .meta({ description: 'Whether deliveries wait: they are created and stay pending, and none is tried.' }),
});
