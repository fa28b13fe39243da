-- The cell that an account lives in: the services, databases and bus that have its data.
alter table accounts add column cell text not null default 'main';
