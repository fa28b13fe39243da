-- A step is due its delay after its approval; of those planned before, nobody knows it any more.
alter table plan_steps add column delay_minutes integer;
