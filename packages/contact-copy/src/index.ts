export { contactConsumer } from './consumers.ts';
export {
  contactColumns,
  contactNamed,
  idsOfContact,
  joinContact,
  type KnownContact,
  keepGivenContacts,
  knownContact,
} from './contacts.sql.ts';
export { learnContact } from './learn-contact.ts';
export { contactOfAccount } from './name-contact.ts';
