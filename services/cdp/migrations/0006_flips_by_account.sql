-- The clock of a sandbox account stops at each moment at which something of that account changes.
create index concurrently if not exists audience_flips_of_account on audience_flips (account_id, flips_at);
