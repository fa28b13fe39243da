import { z } from 'zod';
import { clearable, integerId, text, timestamp, uuid } from '../core/fields.ts';

export const sourceKind = z.enum(['article', 'faq', 'file', 'website']);
export type SourceKind = z.infer<typeof sourceKind>;

export const sourceStatus = z.enum(['processing', 'ready', 'failed']);
export type SourceStatus = z.infer<typeof sourceStatus>;

export const fileType = z.enum(['pdf', 'docx', 'txt', 'md', 'csv', 'html']);
export type FileType = z.infer<typeof fileType>;

export const crawl = z.enum(['page', 'sitemap']);
export const refresh = z.enum(['never', 'daily', 'weekly']);
export type Refresh = z.infer<typeof refresh>;

const title = text(200, 1);
const articleLength = 20_000;
const faqAnswerLength = 2_000;
const body = text(articleLength, 1);
const alternates = z.array(text(200, 1)).max(20);
const url = text(2_048, 1);
const pages = z.array(url).min(1).max(50);

export const Collection = z.object({ id: integerId, name: z.string() }).meta({ id: 'KnowledgeCollection' });
export type Collection = z.infer<typeof Collection>;
export const CollectionInput = z.object({ name: text(120, 1) });

const common = {
  id: z.guid(),
  title: z.string().meta({ description: "A website's title is its address without the scheme." }),
  collection: Collection,
  status: sourceStatus,
  error: z
    .string()
    .meta({ description: 'Why it failed, or why a ready source could not be read again; empty otherwise.' }),
  active: z.boolean().meta({ description: 'Whether agents use it.' }),
  updated_at: timestamp,
};

export const KnowledgeSource = z
  .discriminatedUnion('kind', [
    z.object({ ...common, kind: z.literal('article'), body: z.string() }).meta({ id: 'ArticleSource' }),
    z
      .object({
        ...common,
        kind: z.literal('faq'),
        body: z.string(),
        alternates: z.array(z.string()),
        answer_exactly: z.boolean(),
      })
      .meta({ id: 'FaqSource' }),
    z
      .object({ ...common, kind: z.literal('file'), file_type: fileType, size_bytes: z.int() })
      .meta({ id: 'FileSource' }),
    z
      .object({
        ...common,
        kind: z.literal('website'),
        url: z.string(),
        refresh,
        crawl,
        pages: z.int().meta({ description: 'Number of pages that are read.' }),
      })
      .meta({ id: 'WebsiteSource' }),
  ])
  .meta({ id: 'KnowledgeSource' });
export type KnowledgeSource = z.infer<typeof KnowledgeSource>;

/** An article has a title and a body, an FAQ has its question and FAQ answer in them; a website has a url. */
export const SourceInput = z
  .object({
    kind: z.enum(['article', 'faq', 'website'], {
      error: 'must be article, faq or website; files are uploaded to POST /v1/agents/knowledge/files',
    }),
    collection: integerId.optional().meta({ description: 'Default: the collection General.' }),
    active: z.boolean().default(true),
    title: title.optional().meta({ description: 'Article, FAQ: required; unique within its kind, ignoring case.' }),
    body: body.optional().meta({
      description:
        'Article: Markdown, required; headings split it into passages. FAQ: the answer, required, up to 2,000 characters.',
    }),
    alternates: alternates.optional().meta({ description: 'FAQ: other ways to ask the question.' }),
    answer_exactly: z.boolean().optional().meta({ description: 'FAQ: send the answer exactly as written.' }),
    url: url.optional().meta({ description: 'Website: required.' }),
    pages: pages.optional().meta({ description: 'Website: pages of the same site to read; default: only `url`.' }),
    crawl: crawl.optional().meta({ description: 'Website: where the list of pages came from; default: page.' }),
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
  collection: integerId.optional(),
  active: z.boolean().optional(),
  title: title.optional().meta({ description: 'Article, FAQ, file.' }),
  body: body.optional().meta({ description: 'Article, FAQ; the source is read again.' }),
  alternates: clearable(alternates, []).meta({ description: 'FAQ.' }),
  answer_exactly: z.boolean().optional().meta({ description: 'FAQ.' }),
  pages: pages.optional().meta({ description: 'Website; the source is read again.' }),
  refresh: refresh.optional().meta({ description: 'Website.' }),
});

/** Maximum size of a file, in bytes. */
export const maxFileBytes = 20 * 1_048_576;

export const FileInput = z.object({
  file: z.file().meta({
    description: 'A pdf, docx, txt, md, csv or html file of at most 20 MiB; the type is detected from its content.',
  }),
  title: title.optional().meta({ description: "Default: the file's name." }),
  collection: integerId.optional().meta({ description: 'Default: the collection General.' }),
  active: z.boolean().default(true),
});

export const SearchInput = z.object({
  query: text(500, 1),
  collection: integerId.optional(),
  limit: z.int().min(1).max(20).default(10),
});

export const SearchResult = z
  .object({
    text: z.string(),
    score: z.number().meta({ description: 'Higher is better; comparable only within one response.' }),
    heading_path: z.array(z.string()).meta({ description: 'The headings above the passage, outermost first.' }),
    source: z.object({ id: z.guid(), kind: sourceKind, title: z.string() }),
  })
  .meta({ id: 'KnowledgePassage' });
export type SearchResult = z.infer<typeof SearchResult>;

export const sourcePath = z.object({ source_id: uuid.meta({ param: { id: 'SourceId' } }) });
export const collectionPath = z.object({ collection_id: integerId });
