import { z } from 'zod';
import { clearable, integerId, text, timestamp, uuid } from '../core/fields.ts';

export const sourceKind = z.enum(['article', 'faq', 'file', 'website']).meta({
  description: 'Kind of source: an `article`, an `faq` (one question and its answer), a `file` or a `website`.',
});
export type SourceKind = z.infer<typeof sourceKind>;

export const sourceStatus = z.enum(['processing', 'ready', 'failed']).meta({
  description:
    '`processing`: it is being read, and searches find what was read before. `ready`: it has been read. `failed`: it could not be read.',
});
export type SourceStatus = z.infer<typeof sourceStatus>;

export const fileType = z
  .enum(['pdf', 'docx', 'txt', 'md', 'csv', 'html'])
  .meta({ description: 'Type of the file, detected from its content; for plain text, from its name.' });
export type FileType = z.infer<typeof fileType>;

export const crawl = z.enum(['page', 'sitemap']).meta({
  description: "A note on the origin of the list of pages: one page, or the site's sitemap. It has no effect.",
});
export const refresh = z.enum(['never', 'daily', 'weekly']).meta({
  description: 'How often the website is read again automatically. Only changed pages are read.',
});
export type Refresh = z.infer<typeof refresh>;

const title = text(200, 1);
const articleLength = 20_000;
const faqAnswerLength = 2_000;
const body = text(articleLength, 1);
const alternates = z.array(text(200, 1)).max(20).meta({ description: 'FAQ: other ways to ask the question.' });
const url = text(2_048, 1);
const pages = z.array(url).min(1).max(50);

const collectionId = integerId.meta({ description: 'Id of the collection; default: General.' });
const active = z.boolean().meta({ description: 'Whether agents use the source and searches find it.' });

export const Collection = z
  .object({
    id: integerId.meta({ description: 'Id of the collection in paths, in filters and in `collections` of agents.' }),
    name: z.string().meta({ description: 'Unique in the account, ignoring case. The first collection is General.' }),
  })
  .meta({ id: 'KnowledgeCollection', description: 'A group of knowledge sources. Agents can be limited to it.' });
export type Collection = z.infer<typeof Collection>;
export const CollectionInput = z.object({
  name: text(120, 1).meta({ description: 'Unique in the account, ignoring case. Spaces around it are removed.' }),
});

const common = {
  id: z.guid().meta({ description: 'Id of the source in paths and in search results.' }),
  title: z.string().meta({
    description: 'Title of an article or file, question of an FAQ, or address of a website without the scheme.',
  }),
  collection: Collection,
  status: sourceStatus,
  error: z
    .string()
    .meta({ description: 'Why the source failed, or why a ready source could not be read again; otherwise empty.' }),
  active,
  updated_at: timestamp.meta({
    description: 'When the source was last changed, refreshed by a request, or read with a new result.',
  }),
};

export const KnowledgeSource = z
  .discriminatedUnion('kind', [
    z
      .object({
        ...common,
        kind: z.literal('article').meta({ description: 'The source is a text.' }),
        body: z.string().meta({ description: 'Markdown; its headings split it into passages.' }),
      })
      .meta({ id: 'ArticleSource', description: 'A text. Its headings split it into passages.' }),
    z
      .object({
        ...common,
        kind: z.literal('faq').meta({ description: 'The source is a question (`title`) with its answer (`body`).' }),
        body: z.string().meta({ description: 'The answer.' }),
        alternates: z.array(z.string()).meta({ description: 'Other ways to ask the question.' }),
        answer_exactly: z
          .boolean()
          .meta({ description: 'Whether agents send the answer word for word when the question matches.' }),
      })
      .meta({ id: 'FaqSource', description: 'A question that customers ask, with its answer.' }),
    z
      .object({
        ...common,
        kind: z.literal('file').meta({ description: 'The source is a file from `POST /v1/agents/knowledge/files`.' }),
        file_type: fileType,
        size_bytes: z.int().meta({ description: 'Size of the file, in bytes.' }),
      })
      .meta({ id: 'FileSource', description: 'An uploaded file.' }),
    z
      .object({
        ...common,
        kind: z.literal('website').meta({ description: 'The source consists of pages of a website.' }),
        url: z.string().meta({ description: 'URL of the website, as given.' }),
        refresh,
        crawl,
        pages: z.int().meta({ description: 'Number of pages that are read, at most 50.' }),
      })
      .meta({ id: 'WebsiteSource', description: 'Pages of a website, as far as its robots.txt allows.' }),
  ])
  .meta({ id: 'KnowledgeSource', description: 'Something that agents know. Its fields depend on its `kind`.' });
export type KnowledgeSource = z.infer<typeof KnowledgeSource>;

/** An article has a title and a body; an FAQ has its question and answer in them. A website has a url. */
export const SourceInput = z
  .object({
    kind: z
      .enum(['article', 'faq', 'website'], {
        error: 'must be article, faq or website; upload files to POST /v1/agents/knowledge/files',
      })
      .meta({ description: 'Kind of the source. Fields of other kinds are ignored.' }),
    collection: collectionId.optional(),
    active: active.default(true),
    title: title.optional().meta({ description: 'Article, FAQ: required; unique within its kind, ignoring case.' }),
    body: body.optional().meta({
      description:
        'Article: Markdown, required; its headings split it into passages. FAQ: the answer, required, at most 2,000 characters.',
    }),
    alternates: alternates.optional(),
    answer_exactly: z.boolean().optional().meta({
      description: 'FAQ: whether agents send the answer word for word when the question matches; default: false.',
    }),
    url: url.optional().meta({ description: 'Website: a public URL, required. Each website can be added once.' }),
    pages: pages.optional().meta({ description: 'Website: pages of the same site to read; default: only `url`.' }),
    crawl: crawl.optional().meta({
      description:
        "Website: a note on the origin of the list of pages, one page (the default) or the site's sitemap. It has no effect.",
    }),
    refresh: refresh.optional().meta({ description: 'Website: how often it is read again; default: never.' }),
  })
  .superRefine((source, context) => {
    const missing = (source.kind === 'website' ? ['url'] : ['title', 'body']) as ('url' | 'title' | 'body')[];
    for (const name of missing) {
      if (source[name] === undefined)
        context.addIssue({
          code: 'custom',
          path: [name],
          message: `must be given for a source of kind ${source.kind}`,
        });
    }
    if (source.kind === 'faq' && source.body !== undefined && !text(faqAnswerLength).safeParse(source.body).success) {
      context.addIssue({
        code: 'custom',
        path: ['body'],
        message: `must be a string of 1 to ${faqAnswerLength} characters for an FAQ`,
      });
    }
  });
export type SourceInput = z.output<typeof SourceInput>;

export const SourceChange = z.object({
  collection: integerId.optional().meta({ description: 'Id of the collection to move the source to.' }),
  active: active.optional(),
  title: title.optional().meta({
    description: "Article, FAQ, file: its title, or the FAQ's question. The source is read again.",
  }),
  body: body.optional().meta({
    description: 'Article: Markdown. FAQ: the answer, at most 2,000 characters. The source is read again.',
  }),
  alternates: clearable(alternates, []).meta({
    description: 'FAQ: other ways to ask the question. Replaces the whole list; null: none. The source is read again.',
  }),
  answer_exactly: z.boolean().optional().meta({
    description: 'FAQ: whether agents send the answer word for word when the question matches.',
  }),
  pages: pages.optional().meta({
    description: 'Website: pages of the same site to read. Replaces the whole list. The source is read again.',
  }),
  refresh: refresh.optional().meta({ description: 'Website: how often it is read again automatically.' }),
});

/** Maximum size of a file, in bytes. */
export const maxFileBytes = 20 * 1_048_576;

export const FileInput = z.object({
  file: z.file().meta({
    description: 'A pdf, docx, txt, md, csv or html file of at most 20 MiB. Its type is detected from the content.',
  }),
  title: title.optional().meta({ description: "Title of the source; default: the file's name." }),
  collection: collectionId.optional(),
  active: active.default(true),
});

export const SearchInput = z.object({
  query: text(500, 1).meta({
    description: "Words or a question to search for, ignoring case. Word forms match in the account's language.",
  }),
  collection: integerId.optional().meta({ description: 'Id of the only collection to search; default: all.' }),
  limit: z.int().min(1).max(20).default(10).meta({ description: 'Maximum number of passages.' }),
});

export const SearchResult = z
  .object({
    text: z.string().meta({ description: 'Text of the passage; for an FAQ, its answer.' }),
    score: z.number().meta({ description: 'Relevance; higher is better. Compare it only within one response.' }),
    heading_path: z.array(z.string()).meta({ description: 'Headings above the passage, outermost first.' }),
    source: z
      .object({ id: common.id, kind: sourceKind, title: common.title })
      .meta({ description: 'The source of the passage.' }),
  })
  .meta({ id: 'KnowledgePassage', description: 'A part of a source, as agents receive it.' });
export type SearchResult = z.infer<typeof SearchResult>;

export const sourcePath = z.object({
  source_id: uuid.meta({ description: 'Id of a knowledge source.', param: { id: 'SourceId' } }),
});
export const collectionPath = z.object({ collection_id: integerId.meta({ description: 'Id of a collection.' }) });
