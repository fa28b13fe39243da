import { z } from 'zod';
import { eventsOf, previous } from '../core/event.ts';
import { Endpoint } from './resources.ts';

const { publicEvent } = eventsOf('webhooks');

/** Sent by the test operation to one endpoint, whatever its filter. */
export const webhookTest = publicEvent('webhook.test', z.object({ webhook: Endpoint }));

/** The platform switched an endpoint off: it answered 410, or failed for five days. */
export const webhookDisabled = publicEvent('webhook.disabled', z.object({ webhook: Endpoint, previous }));
