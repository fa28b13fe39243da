-- Names of collections and titles of sources are composed (Unicode's NFC) where they come in, and are unique: those of before are brought to the same
-- form. Where two are alike now, both stay as they are.
update collections c set name = normalize(c.name)
where c.name is not normalized and not exists (
  select from collections other where other.account_id = c.account_id and other.id <> c.id
    and lower(normalize(other.name)) = lower(normalize(c.name)));

update sources s set title = normalize(s.title)
where s.title is not normalized and not exists (
  select from sources other where other.account_id = s.account_id and other.id <> s.id and other.kind = s.kind
    and lower(normalize(other.title)) = lower(normalize(s.title)));
