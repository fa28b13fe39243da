-- Instead of queues_free: whoever looks for work reads none of what is paused, however many there are.
create index concurrently if not exists queues_startable on queues (due_at) where owner is null and not paused;
drop index concurrently if exists queues_free;
