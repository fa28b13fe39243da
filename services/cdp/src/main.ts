import { baseConfig, runProcess, type ServiceDefinition, startService } from '@customer-platform/service-kit';
import { answerGetContactSummary } from './contacts/answer-get-contact-summary.ts';
import { createContact } from './contacts/create-contact.ts';
import { deleteContact } from './contacts/delete-contact.ts';
import { getContact } from './contacts/get-contact.ts';
import { listContacts } from './contacts/list-contacts.ts';
import { putContactByExternalId } from './contacts/put-contact-by-external-id.ts';
import { updateContact } from './contacts/update-contact.ts';

/** Customer data: who the contacts of an account are. */
export const cdp: ServiceDefinition<typeof baseConfig, undefined> = {
  name: 'cdp',
  config: baseConfig,
  migrations: new URL('../migrations/', import.meta.url),
  operations: [createContact, listContacts, getContact, updateContact, deleteContact, putContactByExternalId],
  requests: [answerGetContactSummary],
};

if (import.meta.main) await runProcess(() => startService(cdp, process.env));
