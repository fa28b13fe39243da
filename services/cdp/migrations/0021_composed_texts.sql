-- Texts are composed (Unicode's NFC) from now on where they come in, and compared as they are stored: those of before are brought to the same form.
-- Nearly all are ASCII or composed already, and are only read: a million contacts take some ten seconds, for which nobody waits. JSON in which
-- composing would break an escape stays: a combining character behind a line break is no accent.
with decomposed as (
  select account_id, id from contacts cross join lateral (
    select concat_ws(E'\n', name, external_id, email, array_to_string(tags, E'\n'), fields::text) as texts offset 0) as written
  where octet_length(texts) > char_length(texts) and texts is not normalized
), composed as (
  update contacts c set name = normalize(c.name), external_id = normalize(c.external_id), email = normalize(c.email),
    tags = array(select normalize(tag) from unnest(c.tags) with ordinality as t (tag, place) group by normalize(tag) order by min(place)),
    fields = case when normalize(c.fields::text) is json then normalize(c.fields::text)::jsonb else c.fields end
  from decomposed d where c.account_id = d.account_id and c.id = d.id
  returning c.account_id, c.id
)
insert into changed_contacts (account_id, contact_id)
select account_id, id from composed where exists (select from audiences a where a.account_id = composed.account_id);

-- Before the names by which audiences ask.
update contact_events e set name = normalize(e.name)
from (select distinct account_id, name from audience_event_names where name is not normalized) as asked
where e.account_id = asked.account_id and e.name = asked.name;

update audiences set rules = normalize(rules::text)::jsonb, version = version + 1, due_at = date_trunc('milliseconds', now()),
  event_names = array(select distinct normalize(asked) from unnest(event_names) as asked)
where octet_length(rules::text) > char_length(rules::text) and rules::text is not normalized and normalize(rules::text) is json;

-- Names are unique: where two are alike now, both stay as they are.
update audiences a set name = normalize(a.name)
where a.name is not normalized and not exists (
  select from audiences other where other.account_id = a.account_id and other.id <> a.id and normalize(other.name) = normalize(a.name));
