create table collections (
  account_id uuid    not null,
  id         bigint  generated always as identity,
  name       text    not null,
  is_general boolean not null default false,
  primary key (account_id, id)
);
create unique index collections_name on collections (account_id, lower(name));
create unique index collections_general on collections (account_id) where is_general;

-- Ids grow with time (UUID v7), so that newest first is the primary key backwards. What is to be read has due_at; who reads it moves
-- due_at on, as a lease. `content` counts what there is to be read: what is changed while it is read is read once more.
-- `reading_since` is when it was asked to be read, or began to be: what reading may take is counted from there.
create table sources (
  account_id     uuid        not null,
  id             uuid        not null default uuidv7(),
  kind           text        not null check (kind in ('article', 'faq', 'file', 'website')),
  title          text        not null,
  collection_id  bigint      not null,
  status         text        not null check (status in ('processing', 'ready', 'failed')),
  error          text        not null default '',
  active         boolean     not null,
  created_at     timestamptz not null,
  updated_at     timestamptz not null,
  body           text,
  alternates     text[],
  answer_exactly boolean,
  url            text,
  -- The URL as it is the same for two spellings of it.
  url_key        text,
  refresh        text        check (refresh in ('never', 'daily', 'weekly')),
  crawl          text        check (crawl in ('page', 'sitemap')),
  page_urls      text[],
  file_type      text,
  size_bytes     bigint,
  sha256         bytea,
  content        integer     not null default 1,
  due_at         timestamptz,
  reading_since  timestamptz,
  tries          smallint    not null default 0,
  primary key (account_id, id),
  foreign key (account_id, collection_id) references collections (account_id, id)
);
create unique index sources_title on sources (account_id, kind, lower(title)) where kind in ('article', 'faq');
create unique index sources_url on sources (account_id, url_key) where kind = 'website';
create unique index sources_file on sources (account_id, sha256) where kind = 'file';
create index sources_by_kind on sources (account_id, kind, id);
create index sources_by_collection on sources (account_id, collection_id, id);
create index sources_by_collection_and_kind on sources (account_id, collection_id, kind, id);
create index sources_due on sources (due_at) where due_at is not null;

-- The bytes of a file, apart from what lists read.
create table files (
  account_id uuid  not null,
  source_id  uuid  not null,
  bytes      bytea not null,
  primary key (account_id, source_id),
  foreign key (account_id, source_id) references sources (account_id, id) on delete cascade
);
alter table files alter column bytes set storage external;

-- What is known of each page of a website since it was last read: so that what has not changed is not read again.
create table pages (
  account_id    uuid     not null,
  source_id     uuid     not null,
  position      smallint not null,
  url           text     not null,
  etag          text,
  last_modified text,
  sha256        bytea,
  primary key (account_id, source_id, position),
  foreign key (account_id, source_id) references sources (account_id, id) on delete cascade
);

-- What sources say, cut into what can be quoted. `page` is the position of the website's page, 0 elsewhere. `collection_id` and
-- `active` are the source's, and follow it: what is searched is decided by the index alone. `questions` are an FAQ's, all in lower
-- case and without punctuation. Rows are kept whole, so that ranking reads no second place.
create table passages (
  account_id    uuid     not null,
  source_id     uuid     not null,
  page          smallint not null,
  position      integer  not null,
  heading_path  text[]   not null,
  text          text     not null,
  collection_id bigint   not null,
  active        boolean  not null,
  questions     text[],
  words         tsvector not null,
  primary key (account_id, source_id, page, position),
  foreign key (account_id, source_id) references sources (account_id, id) on delete cascade
) with (toast_tuple_target = 8160);

-- A word, or another mark, as the index knows it: what one account has is nothing to another, however much it is.
create function search_key(account_id uuid, mark text) returns text
language sql immutable parallel safe
return to_hex(hashtextextended(account_id::text || mark, 0));

-- All that a passage is found by. Marks that are no words begin with a character that no word has.
create function search_keys(account_id uuid, collection_id bigint, questions text[], words tsvector) returns tsvector
language sql immutable parallel safe
return array_to_tsvector(array(
  select to_hex(hashtextextended(account_id::text || mark, 0))
  from unnest(tsvector_to_array(words) || (chr(1) || 'collection ' || collection_id)
    || case when questions is null then '{}' else array[chr(1) || 'faq'] end
    || array(select chr(1) || 'question ' || question from unnest(questions) as question)) as mark
));

-- What waits to be sorted in is read by every search: it is kept small.
create index passages_keys on passages using gin (search_keys(account_id, collection_id, questions, words))
  with (gin_pending_list_limit = 256) where active;

-- How many passages an account has, and how many have each word: search reads the rarest first. Whoever changes passages holds
-- the account's row.
create table libraries (
  account_id uuid   not null primary key,
  passages   bigint not null
);
create table words (
  account_id uuid    not null,
  word       text    not null,
  passages   integer not null,
  primary key (account_id, word)
) with (fillfactor = 80);

-- The active passages that a query of search keys finds, at most so many, each with the weight of its words: of each word, what
-- it is worth by its place and its number, times what `worths` says. By the index and nothing else, whatever the planner guesses.
create function weighed_passages(account uuid, query tsquery, search_words tsquery[], worths real[], most integer)
returns table (source_id uuid, page smallint, "position" integer, score real)
language sql stable
set enable_seqscan = off set enable_indexscan = off set enable_indexonlyscan = off
begin atomic
  select p.source_id, p.page, p.position, coalesce((
    select sum(w.worth * ts_rank('{0.4, 0.5, 0.7, 1}', p.words, w.word)) from unnest(search_words, worths) as w (word, worth)
  ), 0)::real
  from passages p
  where p.active and search_keys(p.account_id, p.collection_id, p.questions, p.words) @@ query
    and (p.account_id = account) is true
  limit most;
end;
