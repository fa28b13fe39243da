import { FairPermits, PermitQueue } from '@customer-platform/service-kit';

const waitMs = 10_000;

/**
 * Permits for previews and explanations: five at once, one per customer, live and sandbox together. Each may read all contacts of an account, or all
 * events of a contact, and occupies a database core meanwhile.
 */
export const ruleQuestions = new PermitQueue(new FairPermits(8, 1 / 4), 100, waitMs);
