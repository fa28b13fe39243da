-- Completed appointments of before hold their time, but those that overlap another for having been completed early: they stay as they are. Nothing is
-- booked in the past: those that end from yesterday on are enough. What is booked over one meanwhile is seen at the next look.
do $$
begin
  loop
    begin
      update appointments a set holds_time = true
      where status = 'completed' and holds_time is null and ends_at > now() - interval '1 day' and not exists (
        select from appointments other
        where other.account_id = a.account_id and other.staff_id = a.staff_id and other.status in ('requested', 'confirmed', 'completed')
          and other.starts_at > a.blocked_from - interval '24 hours' and other.starts_at < a.ends_at + interval '8 hours'
          and other.ends_at > a.blocked_from and other.blocked_from < a.ends_at and other.id <> a.id
      );
      exit;
    exception when exclusion_violation then
    end;
  end loop;
end $$;
