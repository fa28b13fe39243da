-- How long the last run of each account took, and until when its owner's runs rest after a long one: long runs of one customer would
-- otherwise follow each other without a pause, and all others wait behind each.
alter table duplicate_runs add column took_ms integer, add column rests_until timestamptz;
