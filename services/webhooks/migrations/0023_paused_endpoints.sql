-- Its customer has paused it: deliveries are made and wait.
alter table endpoints add column paused boolean not null default false;
