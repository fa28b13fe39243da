-- The API's integer ids end with 2,147,483,647, all accounts draw from one sequence, and one that replaces stages all day, 50 at a time, is there in two
-- months: from then on nobody's new ones could have been named. They begin again: keys begin with the account, and of one account no numbers are
-- drawn that far apart.
select setval('pipelines_id_seq', 1) from pipelines_id_seq where last_value > 2147483647;
alter sequence pipelines_id_seq maxvalue 2147483647 cycle;
select setval('stages_id_seq', 1) from stages_id_seq where last_value > 2147483647;
alter sequence stages_id_seq maxvalue 2147483647 cycle;
