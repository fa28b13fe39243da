-- A consent dated ahead of the clock that recorded it counted until that clock had caught up, even against a withdrawal said meanwhile.
-- From now on it counts as said when it was recorded. What was recorded stays as it is; what counts of it is worked out again wherever
-- anything lies ahead, and audiences look again at whom that changes.
with ahead as (
  select distinct account_id, contact_id, channel, purpose from consents where at > created_at
), latest as (
  select distinct on (account_id, contact_id, channel, purpose)
    account_id, contact_id, channel, purpose, state, least(at, created_at) as at
  from consents join ahead using (account_id, contact_id, channel, purpose)
  order by account_id, contact_id, channel, purpose, least(at, created_at) desc, state = 'withdrawn' desc
), changed as (
  update consent_states s set state = latest.state, at = latest.at
  from latest
  where s.account_id = latest.account_id and s.contact_id = latest.contact_id and s.channel = latest.channel
    and s.purpose = latest.purpose and (s.state, s.at) is distinct from (latest.state, latest.at)
  returning s.account_id, s.contact_id
)
insert into changed_contacts (account_id, contact_id)
select distinct account_id, contact_id from changed
where exists (select from audiences a where a.account_id = changed.account_id);
