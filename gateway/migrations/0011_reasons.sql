-- Why a change was made, in the words of whoever made it.
alter table audit add column reason text;
