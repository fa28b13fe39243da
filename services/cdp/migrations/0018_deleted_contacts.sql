-- Deleted contacts with more events, consents or pairs than a request deletes: a job removes the rest some thousand at a time. Those of a million took longer than a
-- request may, so that the contact could never be deleted. A process of the release before deletes all at once, and notes nothing.
create table deleted_contacts (
  account_id uuid   not null,
  contact_id uuid   not null,
  -- Grows whenever one has had its part of the work.
  position   bigint not null generated always as identity,
  primary key (account_id, contact_id)
);
create index deleted_contacts_position on deleted_contacts (position);
