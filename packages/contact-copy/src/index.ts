export { contactConsumer, keepContactsOf, restoredContactConsumer, unmergedContactConsumer } from './consumers.ts';
export {
  contactColumns,
  contactNamed,
  idsOfContact,
  joinContact,
  type KnownContact,
  keepGivenContacts,
  knownContact,
  storedContact,
} from './contacts.sql.ts';
export { contactOfAccount, learnContact } from './name-contact.ts';
