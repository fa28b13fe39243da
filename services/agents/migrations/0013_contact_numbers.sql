-- The numbers of contacts that took part in a merge or its undoing, whichever event comes first: plans show the surviving contact's.
create table contact_numbers (
  account_id uuid   not null,
  contact_id uuid   not null,
  number     bigint not null,
  primary key (account_id, contact_id)
);
