-- The queue of an endpoint that is on and paused: nobody takes it, however much of it is due.
alter table queues add column paused boolean not null default false;
