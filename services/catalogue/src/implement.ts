import { implementer } from '@customer-platform/service-kit';
import type { MessageHandover } from './orders/message-handover.ts';

/** What this service's operations share. */
export type CatalogueResources = { handover: MessageHandover };

/** The `implement` of this service. */
export const implement = implementer<CatalogueResources>();
