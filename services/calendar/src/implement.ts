import { implementer } from '@customer-platform/service-kit';

/** Binds the operations of this service. Handlers share nothing but the database. */
export const implement = implementer();
