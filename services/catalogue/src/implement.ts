import { implementer, type Worker } from '@customer-platform/service-kit';

/** Resources that this service's operations share. */
export type CatalogueResources = { handover: Worker };

/** The `implement` of this service. */
export const implement = implementer<CatalogueResources>();
