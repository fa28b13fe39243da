-- The contact that an external id is of now. Of thousands that were merged and had it as well, each look-up read all: a batch of five hundred events
-- took seconds of a processor.
create index concurrently if not exists contacts_unmerged_external_id on contacts (account_id, external_id, id)
  where external_id is not null and merged_into is null;
