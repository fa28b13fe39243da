import type { SourceKind } from '@customer-platform/contracts/agents';
import type { JsonValue, Sql } from '@customer-platform/service-kit';
import type { CandidateQueries, SearchTerm } from './candidate-queries.ts';
import { type IndexedText, type SearchText, searchedGrams } from './search-text.ts';

/** Parameters of ranking. */
interface Ranking {
  /** Terms as tsqueries. */
  terms: string[];
  /** The weight of each term. */
  weights: number[];
  /** Maximum number of passages ranked. */
  most: number;
}

export interface FoundRow {
  source_id: string;
  kind: SourceKind;
  title: string;
  heading_path: string[];
  text: string;
  score: number;
}

/** A word or bigram of a query, with the forms that match it. */
export interface QueryTerm extends SearchTerm {
  term: string;
  /** Forms of the term that occur in passages, as tsqueries. `worth` is a weight of at most 1. */
  forms: { query: string; worth: number }[];
}

/** Weight of a form whose accents differ. With it, a title without the accents ranks below text with them. */
const worthOfOtherAccents = 0.2;

/** Returns the terms of a query, rarest first, the account's corpus size, and the index keys of the other conditions. */
export async function selectCorpusStats(
  sql: Sql,
  accountId: string,
  configuration: string,
  search: { searched: SearchText; questions: readonly string[]; collections: readonly number[] },
): Promise<{
  terms: QueryTerm[];
  /** Number of the account's passages. */
  corpusSize: number;
  collectionKeys: string[];
  faqKey: string;
  questionKeys: string[];
}> {
  const { words, accented, plain } = search.searched;
  // In the index, chr(2) marks words whose accents were removed: see migrations/0022.
  const [row] = await sql`
    with configured as (select ${configuration}::text::regconfig as configuration),
    spelled as (select lexeme from configured, unnest(to_tsvector(configuration, ${words}::text))),
    forms as (
      select lexeme as term, lexeme as word, 1 as worth from spelled
      union all select gram, gram, 1 from unnest(${searchedGrams(search.searched)}::text[]) as gram
      union all select lexeme, chr(2) || lexeme, ${worthOfOtherAccents}::float8 from spelled
      union all select spelled.lexeme, word, ${worthOfOtherAccents}::float8
        from configured, unnest(${accented}::text[], ${plain}::text[]) as pair (accented, plain),
          unnest(to_tsvector(configuration, accented)) as spelled, unnest(to_tsvector(configuration, plain)) as bare,
          unnest(array[bare.lexeme, chr(2) || bare.lexeme]) as word
    ), known as (
      select term, word, worth, (select passages from words where account_id = ${accountId} and word = form.word) as passages
      from (select term, word, max(worth) as worth from forms group by term, word) as form
    ), terms as (
      select term, coalesce(sum(passages), 0) as passages,
        '(' || string_agg(account_search_key(${accountId}, word), ' | ') filter (where passages is not null) || ')' as key,
        coalesce(json_agg(json_build_object('query', array_to_tsvector(array[word])::text, 'worth', worth))
          filter (where passages is not null), '[]') as forms
      from known group by term
    )
    select
      (select coalesce(json_agg(json_build_object(
          'term', term, 'key', key, 'forms', forms, 'documentFrequency', passages) order by passages, term), '[]') from terms) as terms,
      coalesce((select passages from libraries where account_id = ${accountId}), 0)::bigint as "corpusSize",
      array(select account_search_key(${accountId}, chr(1) || 'collection ' || id)
        from unnest(${[...search.collections]}::bigint[]) as id) as "collectionKeys",
      account_search_key(${accountId}, chr(1) || 'faq') as "faqKey",
      array(select account_search_key(${accountId}, chr(1) || 'question ' || question)
        from unnest(${[...search.questions]}::text[]) as question) as "questionKeys"`;
  return row as Awaited<ReturnType<typeof selectCorpusStats>>;
}

const none = (sql: Sql) => sql`
  select null::uuid as source_id, null::smallint as page, null::integer as "position", null::real as score where false`;

/** Passages that the queries find, with their scores. Queries run in order until `most` passages are found. */
const candidates = (sql: Sql, accountId: string, queries: readonly string[], { terms, weights, most }: Ranking) => {
  const found = queries
    .map(
      (query) => sql`
        select * from found_passages(
          ${accountId}, ${query}::text::tsquery, ${terms}::text[]::tsquery[], ${weights}::real[], ${most}::integer)`,
    )
    .reduce((one, other) => sql`${one} union all ${other}`, none(sql));
  return sql`select distinct * from (select * from (${found}) as one limit ${most}) as each`;
};

/** If fewer passages are found, frequent terms are searched too. */
const few = 100;

/** Ranks the passages that the queries find first, and returns the best ones. */
export async function selectFoundPassages(
  sql: Sql,
  accountId: string,
  ranking: Ranking,
  { queries, frequent, limit }: CandidateQueries & { limit: number },
): Promise<FoundRow[]> {
  if (queries.length + frequent.length === 0) return [];
  return await sql<FoundRow[]>`
    with usual as materialized (${candidates(sql, accountId, queries, ranking)}),
    ranked as (
      select * from usual
      union
      select * from (${candidates(sql, accountId, frequent, ranking)}) as other where (select count(*) from usual) < ${few}
    )
    select c.source_id, c.kind, c.title, p.heading_path, p.text, c.score
    from (
      select c.*, s.kind, s.title from ranked as c
      join sources s on s.account_id = ${accountId} and s.id = c.source_id and s.status <> 'failed'
      order by c.score desc, c.source_id desc, c.page, c."position" limit ${limit}
    ) as c
    join passages p on p.account_id = ${accountId} and p.source_id = c.source_id and p.page = c.page
      and p.position = c."position"
    order by c.score desc, c.source_id desc, c.page, c."position"`;
}

/** Maximum number of FAQs whose questions are compared with the query. */
const maxLookedAt = 40;

/** An FAQ that may be an exact match. */
export interface ExactRow extends FoundRow {
  /** True if one of the FAQ's questions equals the query. */
  is_asked: boolean;
  /** The FAQ's questions: its title and alternates. */
  ways: string[];
}

/** Returns FAQs with `answer_exactly` that the queries find. FAQs with one of the normalized `questions` come first. */
export async function selectExactAnswers(
  sql: Sql,
  accountId: string,
  ranking: Ranking,
  { queries, questions }: { queries: readonly string[]; questions: readonly string[] },
): Promise<ExactRow[]> {
  if (queries.length === 0) return [];
  return await sql<ExactRow[]>`
    select p.source_id, s.kind, s.title, p.heading_path, p.text, c.score + case when is_asked then 1 else 0 end as score,
      is_asked, s.title || s.alternates as ways
    from (${candidates(sql, accountId, queries, ranking)}) as c
    join sources s on s.account_id = ${accountId} and s.id = c.source_id and s.status <> 'failed' and s.answer_exactly
    join passages p on p.account_id = ${accountId} and p.source_id = c.source_id and p.page = c.page
      and p.position = c."position"
    cross join lateral (select p.questions && ${[...questions]}::text[] as is_asked) as compared
    order by is_asked desc, c.score desc, c.source_id desc limit ${maxLookedAt}`;
}

/** Returns the texts that match a tsquery. */
export async function selectMatching(
  sql: Sql,
  configuration: string,
  texts: readonly (IndexedText & { text: string })[],
  query: string,
): Promise<string[]> {
  if (texts.length === 0) return [];
  const rows = await sql<{ text: string }[]>`
    select indexed ->> 'text' as text from jsonb_array_elements(${sql.json(texts as unknown as JsonValue)}) as indexed
    where search_words(${configuration}::text::regconfig, indexed) @@ ${query}::text::tsquery`;
  return rows.map(({ text }) => text);
}
