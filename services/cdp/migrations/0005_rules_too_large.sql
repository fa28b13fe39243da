-- Audiences whose rules are larger than any event can carry: telling that one is ready, or that it failed, could never succeed and would be
-- tried for ever. They stay as they are, failed, until they are given smaller rules.
update audiences set status = 'failed', due_at = null, building_since = null,
  error = 'The rules are too large; give the audience rules of at most 262144 bytes as JSON'
where octet_length(rules::text) > 800000;
