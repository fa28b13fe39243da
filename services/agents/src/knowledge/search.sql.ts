import type { SourceKind } from '@customer-platform/contracts/agents';
import type { Sql } from '@customer-platform/service-kit';
import type { CandidateQueries, SearchTerm } from './candidate-queries.ts';

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

/** Returns the terms of a query, rarest first, the size of the account's corpus, and the index keys of the other conditions. */
export async function selectCorpusStats(
  sql: Sql,
  accountId: string,
  configuration: string,
  search: { query: string; question: string; collections: readonly number[] },
): Promise<{
  terms: SearchTerm[];
  /** Number of the account's passages. */
  corpusSize: number;
  collectionKeys: string[];
  faqKey: string;
  questionKey: string;
}> {
  const [row] = await sql`
    select
      (select coalesce(json_agg(json_build_object(
          'key', account_search_key(${accountId}, lexeme), 'query', array_to_tsvector(array[lexeme])::text,
          'documentFrequency', coalesce(w.passages, 0)) order by coalesce(w.passages, 0), lexeme), '[]')
        from unnest(to_tsvector(${configuration}::text::regconfig, normalize(${search.query}, NFKC)))
        left join words w on w.account_id = ${accountId} and w.word = lexeme) as terms,
      coalesce((select passages from libraries where account_id = ${accountId}), 0)::bigint as "corpusSize",
      array(select account_search_key(${accountId}, chr(1) || 'collection ' || id)
        from unnest(${[...search.collections]}::bigint[]) as id) as "collectionKeys",
      account_search_key(${accountId}, chr(1) || 'faq') as "faqKey",
      account_search_key(${accountId}, chr(1) || 'question ' || ${search.question}::text) as "questionKey"`;
  return row as Awaited<ReturnType<typeof selectCorpusStats>>;
}

const none = (sql: Sql) => sql`
  select null::uuid as source_id, null::smallint as page, null::integer as "position", null::real as score where false`;

/** Passages that the queries find, with their scores; queries run in order until there are enough. */
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

/** Number of passages found below which frequent terms are searched too. */
const few = 100;

/** Returns the best of the passages that the queries find first. */
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

/** An FAQ that may match exactly. */
export interface ExactRow extends FoundRow {
  /** True if one of its questions is the query. */
  is_asked: boolean;
  /** Its questions that have all terms of the query. */
  ways: string[];
}

/** A search of FAQs: `question` is compared as a whole, `allTerms` is a tsquery; null matches none. */
interface ExactSearch {
  queries: readonly string[];
  configuration: string;
  question: string;
  allTerms: string | null;
}

/**
 * Returns the FAQs to be answered exactly: those with the question `question` before those with a question that matches `allTerms`.
 */
export async function selectExactAnswers(
  sql: Sql,
  accountId: string,
  ranking: Ranking,
  { queries, configuration, question, allTerms }: ExactSearch,
): Promise<ExactRow[]> {
  if (queries.length === 0) return [];
  return await sql<ExactRow[]>`
    with looked_at as (
      select p.source_id, s.kind, s.title, s.alternates, p.heading_path, p.text, c.score,
        p.questions @> array[${question}::text] as is_asked
      from (${candidates(sql, accountId, queries, ranking)}) as c
      join sources s on s.account_id = ${accountId} and s.id = c.source_id and s.status <> 'failed' and s.answer_exactly
      join passages p on p.account_id = ${accountId} and p.source_id = c.source_id and p.page = c.page
        and p.position = c."position"
      order by is_asked desc, c.score desc, c.source_id desc limit ${maxLookedAt}
    )
    select source_id, kind, title, heading_path, text, score + case when is_asked then 1 else 0 end as score, is_asked, ways
    from looked_at, lateral (select array(
      select question from unnest(title || alternates) as question
      where to_tsvector(${configuration}::text::regconfig, normalize(question, NFKC)) @@ ${allTerms}::text::tsquery
    ) as ways) as matching
    where is_asked or ways <> '{}'
    order by is_asked desc, score desc, source_id desc`;
}
