-- Operators find accounts by a part of their names.
create index concurrently if not exists accounts_name on accounts using gin (lower(name) public.gin_trgm_ops) where parent_id is null;
