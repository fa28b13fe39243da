-- Who was merged into a contact itself: they come back with it when its own merge is undone.
create index concurrently if not exists contacts_directly_merged on contacts (account_id, (coalesce(direct_survivor, merged_into)))
  where merged_into is not null;
