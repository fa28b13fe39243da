-- The words of a passage are read once, not once for each word of the query: those of a text in Japanese may be kept outside their row.
create or replace function found_passages(account uuid, query tsquery, search_words tsquery[], worths real[], most integer)
returns table (source_id uuid, page smallint, "position" integer, score real)
language sql stable
set enable_seqscan = off set enable_indexscan = off set enable_indexonlyscan = off
begin atomic
  select p.source_id, p.page, p.position, coalesce((
    select sum(w.worth * ts_rank('{0.4, 0.5, 0.7, 1}', whole.words, w.word)) from unnest(search_words, worths) as w (word, worth)
  ), 0)::real
  from passages p cross join lateral (select p.words || '' as words offset 0) as whole
  where p.active and passage_search_keys(p.account_id, p.collection_id, p.questions, p.words) @@ query
    and (p.account_id = account) is true
  limit most;
end;
