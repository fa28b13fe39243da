import { z } from 'zod';
import { clearable, text } from '../core/fields.ts';
import { eventFilter } from './event-kinds.ts';

const events = z
  .array(eventFilter)
  .min(1)
  .max(100)
  .meta({ description: 'Event kinds, families such as `order.*`, or `*` for all kinds, including later ones.' });
const url = text(2_048, 1).meta({
  format: 'uri',
  description: 'A public https URL; http and private addresses only in ranges that the operator allows.',
});
const description = text(500).meta({ description: 'Your note about the endpoint.' });
const active = z.boolean().meta({
  description:
    'Whether the endpoint receives events. Disabling it fails pending deliveries; while it is disabled, new deliveries are skipped.',
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
    description: 'Your note about the endpoint; null removes it.',
  }),
  events: events.optional(),
  active: active.optional(),
  paused: z
    .boolean()
    .optional()
    .meta({ description: 'Whether deliveries wait: they are created and stay pending, without any attempt.' }),
});
