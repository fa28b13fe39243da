-- queues_startable instead of queues_free: whoever looks for work reads none of what is paused, however many there are.
create index concurrently if not exists queues_startable on queues (due_at) where owner is null and not paused;
-- Operators count what is due without that of these endpoints.
create index concurrently if not exists queues_paused on queues (endpoint_id) where paused;
drop index concurrently if exists queues_free;
