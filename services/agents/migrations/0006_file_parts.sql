-- A file's bytes in parts, so that no process has to hold a statement as large as a file. What was stored whole is its one part.
alter table files add column part smallint not null default 0;
alter table files alter column part drop default;
alter table files drop constraint files_pkey;
alter table files add primary key (account_id, source_id, part);
