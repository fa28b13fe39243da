import { FairPermits, PermitQueue } from '@customer-platform/service-kit';

const waitMs = 10_000;

/**
 * Permits for questions by an audience's rules: five at once, one of a customer, live and sandbox together. One may read all contacts of an account, or all
 * events of a contact, by dear rules, and has a processor of the database for itself meanwhile.
 */
export const ruleQuestions = new PermitQueue(new FairPermits(8, 1 / 4), 100, waitMs);
