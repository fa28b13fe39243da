-- What merges moved of a contact's events, to be found without reading all that its survivor has.
create index concurrently if not exists contact_events_moved on contact_events (account_id, original_contact_id)
  where original_contact_id is not null;
