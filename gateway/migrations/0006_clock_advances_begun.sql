-- Since when a clock is on its way: operators see one that something holds.
alter table clock_advances add column began_at timestamptz not null default now();
