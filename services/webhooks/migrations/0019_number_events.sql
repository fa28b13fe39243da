-- Numbers the events that there are, account by account as they were taken. Reads and writes each once, beside everybody's work: nobody changes
-- an event, and new ones are not waited for.
with numbered as materialized (
  select account_id, id, row_number() over (partition by account_id order by taken_at, id) as place from events
), counted as (
  insert into event_counters (account_id, last) select account_id, max(place) from numbered group by account_id
)
update events e set sequence = n.place from numbered n where e.account_id = n.account_id and e.id = n.id;
