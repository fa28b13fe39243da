import { z } from 'zod';
import { clearable, integerId, text, timestamp, uuid } from '../core/fields.ts';

export const sourceKind = z.enum(['article', 'faq', 'file', 'website']).meta({
  description: 'What the source is: an `article`, an `faq` (one question and its answer), a `file` or a `website`.',
});
export type SourceKind = z.infer<typeof sourceKind>;

export const sourceStatus = z.enum(['processing', 'ready', 'failed']).meta({
  description:
    '`processing` until it has been read, then `ready`, or `failed` if it could not be. What was read before is found meanwhile.',
});
export type SourceStatus = z.infer<typeof sourceStatus>;

export const fileType = z
  .enum(['pdf', 'docx', 'txt', 'md', 'csv', 'html'])
  .meta({ description: "Detected from the file's content; among plain texts, from its name." });
export type FileType = z.infer<typeof fileType>;

export const crawl = z.enum(['page', 'sitemap']).meta({
  description: "A note of where the list of pages came from: one page, or the site's sitemap. It changes nothing.",
});
export const refresh = z.enum(['never', 'daily', 'weekly']).meta({
  description: 'How often the website is read again on its own; only pages that have changed are.',
});
export type Refresh = z.infer<typeof refresh>;

const title = text(200, 1);
const articleLength = 20_000;
const faqAnswerLength = 2_000;
const body = text(articleLength, 1);
const alternates = z.array(text(200, 1)).max(20).meta({ description: 'FAQ: other ways to ask the question.' });
const url = text(2_048, 1);
const pages = z.array(url).min(1).max(50);

const collectionId = integerId.meta({ description: 'Id of a collection; default: the collection General.' });
const active = z.boolean().meta({ description: 'Whether agents use it, and searches find it.' });

export const Collection = z
  .object({
    id: integerId.meta({ description: 'Names the collection in paths, in filters and in `collections` of agents.' }),
    name: z.string().meta({ description: 'Unique in the account, ignoring case. The first collection is General.' }),
  })
  .meta({ id: 'KnowledgeCollection', description: 'A group of knowledge sources, to which agents can be limited.' });
export type Collection = z.infer<typeof Collection>;
export const CollectionInput = z.object({
  name: text(120, 1).meta({ description: 'Unique in the account, ignoring case; spaces around it are removed.' }),
});

const common = {
  id: z.guid().meta({ description: 'Names the source in paths, and in passages that a search finds.' }),
  title: z.string().meta({
    description: "An article's or a file's title, an FAQ's question, a website's address without the scheme.",
  }),
  collection: Collection,
  status: sourceStatus,
  error: z
    .string()
    .meta({ description: 'Why it failed, or why a ready source could not be read again; empty otherwise.' }),
  active,
  updated_at: timestamp.meta({
    description: 'When it was last changed, refreshed on request, or read with a new result.',
  }),
};

export const KnowledgeSource = z
  .discriminatedUnion('kind', [
    z
      .object({
        ...common,
        kind: z.literal('article').meta({ description: 'The source is a text of yours.' }),
        body: z.string().meta({ description: 'Markdown; its headings split it into passages.' }),
      })
      .meta({ id: 'ArticleSource', description: 'A text that is split into passages by its headings.' }),
    z
      .object({
        ...common,
        kind: z.literal('faq').meta({ description: 'The source is a question, in `title`, with its answer.' }),
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
        kind: z.literal('file').meta({ description: 'The source is a file, from `POST /v1/agents/knowledge/files`.' }),
        file_type: fileType,
        size_bytes: z.int().meta({ description: 'Size of the file, in bytes.' }),
      })
      .meta({ id: 'FileSource', description: 'An uploaded file.' }),
    z
      .object({
        ...common,
        kind: z.literal('website').meta({ description: 'The source is one or more pages of a website.' }),
        url: z.string().meta({ description: 'URL of the website, as it was given.' }),
        refresh,
        crawl,
        pages: z.int().meta({ description: 'Number of pages that are read, 50 at most.' }),
      })
      .meta({ id: 'WebsiteSource', description: 'Pages of a website, read as its robots.txt allows.' }),
  ])
  .meta({ id: 'KnowledgeSource', description: 'Something that agents know: its fields depend on its `kind`.' });
export type KnowledgeSource = z.infer<typeof KnowledgeSource>;

/** An article has a title and a body, an FAQ has its question and FAQ answer in them; a website has a url. */
export const SourceInput = z
  .object({
    kind: z
      .enum(['article', 'faq', 'website'], {
        error: 'must be article, faq or website; files are uploaded to POST /v1/agents/knowledge/files',
      })
      .meta({ description: 'Decides which other fields count: those of other kinds are ignored.' }),
    collection: collectionId.optional(),
    active: active.default(true),
    title: title.optional().meta({ description: 'Article, FAQ: required; unique within its kind, ignoring case.' }),
    body: body.optional().meta({
      description:
        'Article: Markdown, required; headings split it into passages. FAQ: the answer, required, up to 2,000 characters.',
    }),
    alternates: alternates.optional(),
    answer_exactly: z.boolean().optional().meta({
      description: 'FAQ: whether agents send the answer word for word when the question matches; default: false.',
    }),
    url: url.optional().meta({ description: 'Website: required. A public URL; each website can be added once.' }),
    pages: pages.optional().meta({ description: 'Website: pages of the same site to read; default: only `url`.' }),
    crawl: crawl.optional().meta({
      description:
        "Website: a note of where the list of pages came from, one page (the default) or the site's sitemap. It changes nothing.",
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
    description: 'Article: Markdown. FAQ: the answer, up to 2,000 characters. The source is read again.',
  }),
  alternates: clearable(alternates, []).meta({
    description: 'FAQ: other ways to ask the question, replaced whole; null: none. The source is read again.',
  }),
  answer_exactly: z.boolean().optional().meta({
    description: 'FAQ: whether agents send the answer word for word when the question matches.',
  }),
  pages: pages.optional().meta({
    description: 'Website: pages of the same site to read, replaced whole. The source is read again.',
  }),
  refresh: refresh.optional().meta({ description: 'Website: how often it is read again on its own.' }),
});

/** Maximum size of a file, in bytes. */
export const maxFileBytes = 20 * 1_048_576;

export const FileInput = z.object({
  file: z.file().meta({
    description: 'A pdf, docx, txt, md, csv or html file of at most 20 MiB; the type is detected from its content.',
  }),
  title: title.optional().meta({ description: "Default: the file's name." }),
  collection: collectionId.optional(),
  active: active.default(true),
});

export const SearchInput = z.object({
  query: text(500, 1).meta({
    description: "What to look for: words or a question, in any case. Word forms match in the account's language.",
  }),
  collection: integerId.optional().meta({ description: 'Id of the only collection to search; default: all.' }),
  limit: z.int().min(1).max(20).default(10).meta({ description: 'Maximum number of passages.' }),
});

export const SearchResult = z
  .object({
    text: z.string().meta({ description: 'The passage; of an FAQ, its answer.' }),
    score: z.number().meta({ description: 'Higher is better; comparable only within one response.' }),
    heading_path: z.array(z.string()).meta({ description: 'The headings above the passage, outermost first.' }),
    source: z
      .object({ id: common.id, kind: sourceKind, title: common.title })
      .meta({ description: 'The source that has the passage.' }),
  })
  .meta({ id: 'KnowledgePassage', description: 'A piece of a source, as agents get it.' });
export type SearchResult = z.infer<typeof SearchResult>;

export const sourcePath = z.object({
  source_id: uuid.meta({ description: 'Id of a knowledge source.', param: { id: 'SourceId' } }),
});
export const collectionPath = z.object({ collection_id: integerId.meta({ description: 'Id of a collection.' }) });
