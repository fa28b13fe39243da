-- A completed appointment keeps its time: completing it early gave the time away. Completed ones that overlap another for that reason stay as they
-- are, and hold nothing. Nothing is booked in the past: where there are appointments, the constraint is of those that end from yesterday on, or
-- everybody would wait until all of them were compared. Processes of the release before work under it too: what it refuses is slot_taken there too.
alter table appointments add column holds_time boolean not null default true;

do $$
declare
  since timestamptz := coalesce((select now() - interval '1 day' from appointments limit 1), '-infinity');
begin
  update appointments a set holds_time = false
  from (
    select account_id, id, status, blocked_from < max(ends_at) over earlier or lead(blocked_from) over teammate < ends_at as overlaps
    from appointments where ends_at > since and status in ('requested', 'confirmed', 'completed')
    window teammate as (partition by account_id, staff_id order by blocked_from),
      earlier as (teammate rows between unbounded preceding and 1 preceding)
  ) as held
  where a.account_id = held.account_id and a.id = held.id and held.status = 'completed' and held.overlaps;

  alter table appointments drop constraint appointments_no_overlap;
  execute format('alter table appointments add constraint appointments_no_overlap exclude using gist (
    account_id with =, staff_id with =, tstzrange(blocked_from, ends_at) with &&
  ) where (holds_time and ends_at > %L and status in (''requested'', ''confirmed'', ''completed''))', since);
end $$;
