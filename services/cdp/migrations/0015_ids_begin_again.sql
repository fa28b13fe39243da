-- As the ids of stages do: see the migration 0005 of Pipelines.
select setval('duplicates_id_seq', 1) from duplicates_id_seq where last_value > 2147483647;
alter sequence duplicates_id_seq maxvalue 2147483647 cycle;
