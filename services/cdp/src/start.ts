import type * as contract from '@customer-platform/contracts/cdp';
import { baseConfig, type ServiceDefinition } from '@customer-platform/service-kit';
import { announceMoves } from './audiences/announce-moves.ts';
import { createAudience } from './audiences/create-audience.ts';
import { deleteAudience } from './audiences/delete-audience.ts';
import { emptyDeletedAudiences } from './audiences/empty-deleted-audiences.ts';
import { explainAudience } from './audiences/explain-audience.ts';
import { getAudience } from './audiences/get-audience.ts';
import { listAudienceMembers } from './audiences/list-audience-members.ts';
import { listAudiences } from './audiences/list-audiences.ts';
import { previewAudience } from './audiences/preview-audience.ts';
import { refreshAudience } from './audiences/refresh-audience.ts';
import { refreshChangedContacts } from './audiences/refresh-changed.ts';
import { refreshWhole } from './audiences/refresh-whole.ts';
import { retryStuckAudiences } from './audiences/retry-stuck-audiences.ts';
import { updateAudience } from './audiences/update-audience.ts';
import { handleRecordOptOut } from './consents/handle-record-opt-out.ts';
import { listConsents } from './consents/list-consents.ts';
import { onMessageOptedOut } from './consents/on-message-opted-out.ts';
import { recordConsent } from './consents/record-consent.ts';
import { onDomainEvent } from './contact-events/on-domain-event.ts';
import { recordEvents } from './contact-events/record-events.ts';
import { createContact } from './contacts/create-contact.ts';
import { deleteContact } from './contacts/delete-contact.ts';
import { emptyDeletedContacts } from './contacts/empty-deleted-contacts.ts';
import { getContact } from './contacts/get-contact.ts';
import { handleFindOrCreateContact } from './contacts/handle-find-or-create-contact.ts';
import { handleGetContactProfile } from './contacts/handle-get-contact-profile.ts';
import { handleGetContactReach } from './contacts/handle-get-contact-reach.ts';
import { handleGetContactSummary } from './contacts/handle-get-contact-summary.ts';
import { listContacts } from './contacts/list-contacts.ts';
import { putContactByExternalId } from './contacts/put-contact-by-external-id.ts';
import { updateContact } from './contacts/update-contact.ts';
import { writeContacts } from './contacts/write-contacts.ts';
import { dismissDuplicate } from './duplicates/dismiss-duplicate.ts';
import { findDuplicates } from './duplicates/find-duplicates.ts';
import { forgetMerges } from './duplicates/forget-merges.ts';
import { listDuplicates } from './duplicates/list-duplicates.ts';
import { lookForDuplicates } from './duplicates/look-for-duplicates.ts';
import { mergeDuplicate } from './duplicates/merge-duplicate.ts';
import { undoDuplicate } from './duplicates/undo-duplicate.ts';
import { forgetLeavers } from './leavers/forget-leavers.ts';

/** Customer data: contacts, their consents and events, duplicates, and audiences. */
export const cdp: ServiceDefinition<typeof contract> = {
  name: 'cdp',
  config: baseConfig,
  migrations: new URL('../migrations/', import.meta.url),
  operations: {
    createContact,
    listContacts,
    writeContacts,
    getContact,
    updateContact,
    deleteContact,
    putContactByExternalId,
    listConsents,
    recordConsent,
    recordEvents,
    listDuplicates,
    findDuplicates,
    mergeDuplicate,
    undoDuplicate,
    dismissDuplicate,
    createAudience,
    listAudiences,
    getAudience,
    updateAudience,
    deleteAudience,
    refreshAudience,
    previewAudience,
    explainAudience,
    listAudienceMembers,
  },
  requests: {
    getContactSummary: handleGetContactSummary,
    getContactProfile: handleGetContactProfile,
    getContactReach: handleGetContactReach,
    findOrCreateContact: handleFindOrCreateContact,
    recordOptOut: handleRecordOptOut,
  },
  consumers: [onDomainEvent, onMessageOptedOut],
  jobs: [
    lookForDuplicates(1),
    lookForDuplicates(2),
    retryStuckAudiences,
    emptyDeletedAudiences,
    emptyDeletedContacts,
    forgetLeavers,
    forgetMerges,
    refreshWhole(1),
    refreshWhole(2),
    refreshWhole('quick'),
    announceMoves(),
    refreshChangedContacts(1),
    refreshChangedContacts(2),
    refreshChangedContacts('quick'),
  ],
};
