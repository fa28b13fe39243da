export { applyContactEvents, contactConsumer, restoredContactConsumer, unmergedContactConsumer } from './consumers.ts';
export {
  contactColumns,
  contactNamed,
  idsOfContact,
  insertMissingContacts,
  joinContact,
  type KnownContact,
  knownContact,
  storedContact,
} from './contacts.sql.ts';
export { contactOfAccount, fetchContact } from './name-contact.ts';
