import { type Client, createClient } from '@customer-platform/client';
import { type KnowledgeSource, maxFileBytes } from '@customer-platform/contracts/agents';
import { type ProcessPlatform, waitFor } from '@customer-platform/testkit';
import { docxOf, pdfOf } from '@customer-platform/testkit/documents';
import { type Child, startChild } from './child-process.ts';
import { atMost, type Bench, exactly, type Figure, median, percentile, told } from './figures.ts';
import { closedLoop, requestBytes } from './load.ts';
import { someDocument, someQueries } from './many-passages.ts';
import { startPlatform } from './platform.ts';
import { childrensMebibytes, residentMebibytes, watchMemory } from './process-usage.ts';

const rounds = 5;
const articleLength = 20_000;
const pageCount = 50;
const passageCount = 100_000;
const passagesOfFile = 1_000;
const searches = 400;
const warming = 40;
const hostilePages = ['endless', 'private', 'links', 'bomb', 'deep', 'drip'];
const uploadCount = 10;
const mebibyte = 1_048_576;
/** Size of a bomb, below the limit at which a Word document is refused unread. */
const bombParagraphs = mebibyte;
/** Timeout in milliseconds, longer than a reading may take. */
const patienceMs = 120_000;

interface Setting {
  platform: ProcessPlatform;
  client: Client;
  key: string;
  site: Child;
}

export const knowledgeBench: Bench = {
  name: 'knowledge',
  summary: 'reading articles, websites and what is hostile, and searching 100,000 passages',
  async measure() {
    const [platform, site] = [await startPlatform(), await startChild('site.ts')];
    try {
      const setting = await openSetting(platform, site);
      return [
        ...(await readingArticles(setting)),
        ...(await readingPages(setting)),
        ...(await readingWhatIsHostile(setting)),
        ...(await uploading(setting)),
        ...(await searching(setting)),
      ];
    } finally {
      await site.stop();
      await platform.stop();
    }
  },
};

async function openSetting(platform: ProcessPlatform, site: Child): Promise<Setting> {
  const { key } = await platform.account();
  return { platform, site, key, client: createClient({ baseUrl: platform.gatewayUrl, apiKey: key }) };
}

/** Waits until a source is read, and returns it with the seconds since its creation. */
async function read(
  { client }: Setting,
  add: () => Promise<KnowledgeSource>,
): Promise<{ source: KnowledgeSource; seconds: number }> {
  const began = performance.now();
  const { id: source_id } = await add();
  const source = await waitFor(
    'the source to be read',
    async () => {
      const found = await client.getSource({ params: { source_id } });
      return found.status !== 'processing' && found;
    },
    patienceMs,
  );
  return { source, seconds: (performance.now() - began) / 1_000 };
}

function expectReady({ status, error }: KnowledgeSource): void {
  if (status !== 'ready') throw new Error(`a source is ${status}: ${error}`);
}

async function readingArticles(setting: Setting): Promise<Figure[]> {
  const part = (round: number, number: number) =>
    `## Part ${number} of ${round}\n\n${'Tea is made of leaves. '.repeat(40)}\n\n`;
  const seconds: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const text = Array.from({ length: 30 }, (_, number) => part(round, number))
      .join('')
      .slice(0, articleLength);
    const body = { kind: 'article' as const, title: `Article ${round}`, body: text };
    const result = await read(setting, () => setting.client.createSource({ body }));
    expectReady(result.source);
    if (round > 0) seconds.push(result.seconds); // the first one warms up
  }
  return [
    atMost(`an article of ${articleLength} characters, from its POST until it is ready`, median(seconds), 2, 's'),
  ];
}

async function readingPages(setting: Setting): Promise<Figure[]> {
  const { client, site } = setting;
  const pages = Array.from({ length: pageCount }, (_, number) => `${site.url}/page/${number}`);
  const { source, seconds } = await read(setting, () =>
    client.createSource({ body: { kind: 'website', url: site.url, pages } }),
  );
  expectReady(source);
  return [atMost(`a website of ${pageCount} pages of 20 kB, until it is ready`, seconds, 30, 's')];
}

/**
 * Measures hostile documents read all at once: each hostile page is a website of its own. A file of an unsupported type by content is
 * refused at once, whatever its name; one that only starts like a PDF is accepted, and fails.
 */
async function readingWhatIsHostile(setting: Setting): Promise<Figure[]> {
  const { platform, client, site } = setting;
  const pid = platform.pidOf('agents')!;
  const before = residentMebibytes(pid);
  const [memory, readers] = [watchMemory(pid), watchMemory(pid, childrensMebibytes)];
  const websites = hostilePages.map(
    (name) => () => client.createSource({ body: { kind: 'website', url: `${site.url}/hostile/${name}` } }),
  );
  const files = hostileFiles().map((file) => () => client.uploadFile({ body: { file } }));
  const ended = await Promise.all([...websites, ...files].map((add) => read(setting, add)));
  const all = ended.length;
  const failed = ended.filter(({ source }) => source.status === 'failed' && source.error !== '').length;
  const grown = memory.stop() - before;
  return [
    exactly(
      'hostile websites and files that ended in failed, with a reason',
      `${failed} of ${all}`,
      `${all} of ${all}`,
    ),
    told('the last of them', Math.max(...ended.map(({ seconds }) => seconds)), 's'),
    atMost('memory that the service took to read them', grown, 100, 'MiB'),
    told('the most that its reading processes held together', readers.stop(), 'MiB'),
  ];
}

/** Measures uploads. The files cannot be read, so that only their storage is measured. */
async function uploading({ platform, client }: Setting): Promise<Figure[]> {
  const pid = platform.pidOf('agents')!;
  const before = residentMebibytes(pid);
  const memory = watchMemory(pid);
  const began = performance.now();
  const uploads = Array.from({ length: uploadCount }, (_, index) => {
    const bytes = Buffer.alloc(maxFileBytes, `%PDF-1.7 ${index} `);
    return client.uploadFile({ body: { file: new File([bytes], `${index}.pdf`) } });
  });
  await Promise.all(uploads);
  const seconds = (performance.now() - began) / 1_000;
  return [
    told(`${uploadCount} files of 20 MiB, uploaded at once`, seconds, 's'),
    told('memory that the service took to take them', memory.stop() - before, 'MiB'),
  ];
}

function hostileFiles(): File[] {
  const wordBomb = docxOf([{ text: 'a</w:t></w:r></w:p><w:p><w:r><w:t>'.repeat(bombParagraphs) }]);
  const shyWordBomb = docxOf([{ text: 'a'.repeat(200 * mebibyte) }], 1_000);
  const manyPages = pdfOf(Array<string>(10_000).fill('x'));
  const broken = docxOf([{ text: 'a word '.repeat(1_000) }]);
  broken.fill(255, 100, 400);
  return [
    new File([wordBomb], 'bomb.docx'),
    new File([shyWordBomb], 'shy-bomb.docx'),
    new File([manyPages], 'pages.pdf'),
    new File(['%PDF-1.7 and then no PDF'], 'wrong.pdf'),
    new File([broken], 'broken.docx'),
  ];
}

/** Measures searches. The passages are uploaded as files, and all belong to one account. */
async function searching({ platform, site }: Setting): Promise<Figure[]> {
  const setting = await openSetting(platform, site);
  const { client, key } = setting;
  const began = performance.now();
  for (let file = 0; file < passageCount / passagesOfFile; file++) {
    const text = someDocument(file, passagesOfFile);
    const upload = () => client.uploadFile({ body: { file: new File([text], `${file}.md`) } });
    expectReady((await read(setting, upload)).source);
  }
  const seconds = (performance.now() - began) / 1_000;
  const queries = someQueries(searches + warming).map((query) =>
    requestBytes(
      platform.gatewayUrl,
      'POST /v1/agents/knowledge/search',
      { authorization: `Bearer ${key}` },
      JSON.stringify({ query }),
    ),
  );
  let found = 0;
  const load = {
    url: platform.gatewayUrl,
    connections: 1,
    next: () => queries.shift(),
    onResponse: ({ body }: { body: Buffer }) => {
      if ((JSON.parse(body.toString()) as { data: unknown[] }).data.length > 0) found++;
    },
  };
  const { latenciesMs, statuses, responses } = await closedLoop(load);
  if (statuses[200] !== responses) throw new Error(`not every search succeeded: ${JSON.stringify(statuses)}`);
  const counted = latenciesMs.slice(warming);
  return [
    told(`a search over ${passageCount} passages: p50`, percentile(counted, 0.5), 'ms'),
    atMost(`a search over ${passageCount} passages: p99`, percentile(counted, 0.99), 50, 'ms'),
    told('searches that found something', `${found} of ${responses}`),
    told('reading these passages, from files of 1,000', seconds, 's'),
  ];
}
