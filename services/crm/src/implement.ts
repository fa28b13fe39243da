import { implementer } from '@customer-platform/service-kit';

/** The `implement` of this service. Its handlers share only the database. */
export const implement = implementer();
