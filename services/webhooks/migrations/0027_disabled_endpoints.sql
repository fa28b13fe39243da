-- Operators see the endpoints that the platform switched off in the last day, and one by its id alone.
create index concurrently if not exists endpoints_disabled on endpoints (updated_at) where disabled_reason is not null;
create index concurrently if not exists endpoints_by_id on endpoints (id);
