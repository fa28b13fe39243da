-- Contacts that are listed. Of thousands that were merged each list, and each look-up by phone or email, read all that are newer than a page.
create index concurrently if not exists contacts_unmerged on contacts (account_id, id) where merged_into is null;
create index concurrently if not exists contacts_unmerged_phone on contacts (account_id, phone, id)
  where phone is not null and merged_into is null;
create index concurrently if not exists contacts_unmerged_email on contacts (account_id, email, id)
  where email is not null and merged_into is null;
