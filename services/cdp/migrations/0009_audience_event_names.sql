-- Which audiences ask about an event, found by its name. It was looked for in the names of each audience of the account: with a few hundred
-- audiences of many conditions a batch of events took longer than a statement may, and everybody's events waited behind it. Kept by a
-- trigger: processes of the release before write audiences too.
create table audience_event_names (
  account_id  uuid not null,
  name        text not null,
  audience_id uuid not null,
  primary key (account_id, name, audience_id)
);
create index audience_event_names_of_audience on audience_event_names (account_id, audience_id);

create function keep_audience_event_names() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then
    delete from audience_event_names where account_id = old.account_id and audience_id = old.id;
  end if;
  if tg_op <> 'DELETE' then
    insert into audience_event_names (account_id, name, audience_id)
    select distinct new.account_id, asked.name, new.id from unnest(new.event_names) as asked (name);
  end if;
  return null;
end $$;
create trigger keep_event_names after insert or delete or update of event_names on audiences
  for each row execute function keep_audience_event_names();

insert into audience_event_names (account_id, name, audience_id)
select distinct a.account_id, asked.name, a.id from audiences a cross join unnest(a.event_names) as asked (name);
