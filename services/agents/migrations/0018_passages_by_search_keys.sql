-- Passages are found by these keys: what waits to be sorted in is read by every search, so it is kept small.
create index concurrently if not exists passages_by_search_keys on passages
  using gin (passage_search_keys(account_id, collection_id, questions, words)) with (gin_pending_list_limit = 256) where active;
