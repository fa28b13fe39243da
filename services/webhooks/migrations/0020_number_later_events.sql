-- Numbers what was recorded while 0019 numbered the others, in a short time without new ones; from then on an account without a counter is one
-- without events. The minutes are for clocks that differ.
lock table events in share row exclusive mode;
with numbered as materialized (
  select account_id, id, row_number() over (partition by account_id order by taken_at, id) as place from events
  where sequence is null
    and taken_at > (select applied_at - interval '10 minutes' from migrations where name = '0018_events_of_older_processes.sql')
), added as (
  select account_id, count(*) as events from numbered group by account_id
), counted as (
  insert into event_counters as c (account_id, last) select account_id, events from added order by account_id
  on conflict (account_id) do update set last = c.last + excluded.last returning account_id, last
)
update events e set sequence = c.last - a.events + n.place
from numbered n join added a using (account_id) join counted c using (account_id)
where e.account_id = n.account_id and e.id = n.id;

create or replace function number_event() returns trigger language plpgsql as $$
begin
  insert into event_counters (account_id, last) values (new.account_id, 0) on conflict do nothing;
  perform from event_counters where account_id = new.account_id for update;
  if not exists (select from events where account_id = new.account_id and id = new.id) then
    update event_counters set last = last + 1 where account_id = new.account_id returning last into new.sequence;
  end if;
  return new;
end $$;
