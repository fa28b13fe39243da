-- As the ids of stages do: see the migration 0005 of Pipelines.
select setval('agents_id_seq', 1) from agents_id_seq where last_value > 2147483647;
alter sequence agents_id_seq maxvalue 2147483647 cycle;
select setval('collections_id_seq', 1) from collections_id_seq where last_value > 2147483647;
alter sequence collections_id_seq maxvalue 2147483647 cycle;
select setval('plans_id_seq', 1) from plans_id_seq where last_value > 2147483647;
alter sequence plans_id_seq maxvalue 2147483647 cycle;
select setval('plan_steps_id_seq', 1) from plan_steps_id_seq where last_value > 2147483647;
alter sequence plan_steps_id_seq maxvalue 2147483647 cycle;
