-- Keys by SHA-256 instead of PostgreSQL's own hash, which can be calculated backwards: a customer that knew another's account could store words
-- with the keys of that one's, which each of its searches would read. The functions and the index before serve older processes until a later release.
create function account_search_key(account_id uuid, mark text) returns text
language sql immutable parallel safe
return encode(substr(sha256(convert_to(account_id::text || mark, 'UTF8')), 1, 16), 'hex');

-- All that a passage is found by. Marks that are no words begin with a character that no word has.
create function passage_search_keys(account_id uuid, collection_id bigint, questions text[], words tsvector) returns tsvector
language sql immutable parallel safe
return array_to_tsvector(array(
  select encode(substr(sha256(convert_to(account_id::text || mark, 'UTF8')), 1, 16), 'hex')
  from unnest(tsvector_to_array(words) || (chr(1) || 'collection ' || collection_id)
    || case when questions is null then '{}' else array[chr(1) || 'faq'] end
    || array(select chr(1) || 'question ' || question from unnest(questions) as question)) as mark
));

-- The active passages that a query of search keys finds, at most so many, each with the weight of its words: of each word, what
-- it is worth by its place and its number, times what `worths` says. By the index and nothing else, whatever the planner guesses.
create function found_passages(account uuid, query tsquery, search_words tsquery[], worths real[], most integer)
returns table (source_id uuid, page smallint, "position" integer, score real)
language sql stable
set enable_seqscan = off set enable_indexscan = off set enable_indexonlyscan = off
begin atomic
  select p.source_id, p.page, p.position, coalesce((
    select sum(w.worth * ts_rank('{0.4, 0.5, 0.7, 1}', p.words, w.word)) from unnest(search_words, worths) as w (word, worth)
  ), 0)::real
  from passages p
  where p.active and passage_search_keys(p.account_id, p.collection_id, p.questions, p.words) @@ query
    and (p.account_id = account) is true
  limit most;
end;
