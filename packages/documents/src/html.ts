import { Readability } from '@mozilla/readability';
import { parseHTML } from 'linkedom';
import { type Piece, PieceBuilder } from './pieces.ts';
import { hasRevealed, type PageElement, reveal, revealedWithout } from './revealed.ts';

/** The part of a DOM node that this module uses. */
interface PageNode {
  readonly nodeType: number;
  readonly localName: string;
  readonly parentNode: PageNode | null;
  readonly childNodes: ArrayLike<PageNode>;
  readonly textContent: string | null;
  getAttribute(name: string): string | null;
}

interface Page extends PageNode {
  readonly documentElement: PageNode & PageElement;
  querySelectorAll(selector: string): ArrayLike<PageNode & PageElement>;
}

/** Maximum elements for Readability, which needs several times a page's memory. The whole body of a larger page is read. */
const maxElements = 15_000;
/** Maximum nesting depth for Readability, which is recursive. The whole body of a more deeply nested page is read. */
const maxDepth = 500;
/** Attribute that keeps a heading's original level, since Readability turns h1 into h2. It overwrites any value from the page. */
const levelAttribute = 'data-heading-level';
const headingTags = 'h1, h2, h3, h4, h5, h6';

/**
 * Splits the main text of a web page by its headings, under its title. Content that other parts of the page show after a click follows.
 * If Readability finds no main text, the whole body is split.
 */
export function readWebPage(html: string): Piece[] {
  const page = parsePage(html);
  const outermost = page.querySelectorAll('h1');
  const named = page.querySelectorAll('title')[0]?.textContent ?? '';
  const title = (outermost.length === 1 && outermost[0]!.textContent?.trim()) || named;
  const hidesContent = hasRevealed(page.documentElement);
  const article = isForReadability(page)
    ? new Readability<PageNode & PageElement>(page as never, { serializer: (node) => node as never }).parse()
    : null;
  const pieces = article?.content ? piecesOf([article.content], title) : [];
  // Parses the HTML again, since Readability changes the document it reads.
  if (!article?.content || pieces.length === 0 || (article.textContent ?? '').trim() === '')
    return piecesOf([parsePage(html).documentElement], title);
  if (!hidesContent) return pieces;
  const more = revealedWithout(parsePage(html).documentElement, article.content) as (PageNode & PageElement)[];
  return [...pieces, ...piecesOf(more, title)];
}

function isForReadability(page: Page): boolean {
  const elements = Array.from(page.querySelectorAll('*'));
  if (elements.length > maxElements) return false;
  // Document order: each element comes after its parent.
  const depths = new Map<PageNode | null, number>();
  for (const element of elements) depths.set(element, (depths.get(element.parentNode) ?? 0) + 1);
  return depths.values().every((depth) => depth <= maxDepth);
}

/** Splits all text of HTML from a converter by its headings. */
export function readConverted(html: string): Piece[] {
  return piecesOf([parsePage(`<!doctype html><html><body>${html}</body></html>`).documentElement], '');
}

function parsePage(html: string): Page {
  // Without <html>, linkedom keeps only the first element; without <body>, the document has no body.
  const body = /<body[\s>]/i.test(html) ? html : `<body>${html}</body>`;
  const whole = /<html[\s>]/i.test(html) ? html : `<!doctype html><html>${body}</html>`;
  const page = parseHTML(whole).document as unknown as Page;
  reveal(Array.from(page.querySelectorAll('*')));
  for (const heading of Array.from(page.querySelectorAll(headingTags))) {
    heading.setAttribute(levelAttribute, heading.localName.slice(1));
  }
  return page;
}

/** Returns a heading's level, 1 to 6, or undefined for any other element. */
function levelOf(element: PageNode): number | undefined {
  const level = /^h([1-6])$/.exec(element.localName)?.[1];
  if (level === undefined) return undefined;
  const before = element.getAttribute(levelAttribute) ?? '';
  return Number(/^[1-6]$/.test(before) ? before : level);
}

const elementNode = 1;
const textNode = 3;
const skipped = new Set(
  'script style noscript template svg math iframe object embed canvas head title select textarea button nav audio video'.split(
    ' ',
  ),
);
const blocks = new Set(
  'address article aside blockquote body dd details div dl dt fieldset figcaption figure footer form header hr li main ol p section summary table tbody td tfoot th thead tr ul caption'.split(
    ' ',
  ),
);

/** Walks the nodes in order. It does not recurse, since pages can be nested to any depth. */
function piecesOf(roots: readonly PageNode[], title: string): Piece[] {
  const builder = new PieceBuilder(title);
  const text = new TextRun(builder);
  const open: (PageNode | (() => void))[] = roots.toReversed();
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next === 'function') {
      next();
    } else if (next.nodeType === textNode) {
      text.add(next.textContent ?? '');
    } else if (next.nodeType === elementNode && !skipped.has(next.localName)) {
      visit(next);
    }
  }
  text.end();
  return builder.finish();

  function visit(element: PageNode): void {
    const name = element.localName;
    const level = levelOf(element);
    if (level !== undefined) {
      text.end();
      builder.heading(level, element.textContent ?? '');
      return;
    }
    if (name === 'pre') {
      text.end();
      builder.block(element.textContent ?? '');
      return;
    }
    if (name === 'br') text.addLineEnd();
    const end = blocks.has(name) ? text.begin(name) : undefined;
    if (end) open.push(end);
    const children = Array.from(element.childNodes);
    for (let index = children.length - 1; index >= 0; index--) open.push(children[index]!);
  }
}

/** Text of the current block. */
class TextRun {
  readonly #builder: PieceBuilder;
  readonly #parts: string[] = [];
  /** True once a part contains more than whitespace. */
  #hasText = false;
  #glue = '\n\n';
  #rows = 0;
  #items = 0;
  /** True at the start of a list or a table, before its first item or row. */
  #isFirst = false;

  constructor(builder: PieceBuilder) {
    this.#builder = builder;
  }

  add(text: string): void {
    const part = text.replace(/[^\S\ufeff]+/g, ' ');
    this.#parts.push(part);
    this.#hasText ||= part.trim() !== '';
  }

  addLineEnd(): void {
    this.#parts.push(this.#rows > 0 ? ' ' : '\n');
  }

  /** Begins a block and returns the function that ends it. A table row is one line, even if its cells contain blocks. */
  begin(name: string): () => void {
    if (this.#rows > 0) {
      if (name === 'tr') this.#rows++;
      this.#parts.push((name === 'td' || name === 'th') && this.#hasText ? ' | ' : ' ');
      return () => {
        if (name === 'tr') this.#rows--;
      };
    }
    this.end();
    if (name === 'tr') this.#rows++;
    if (name === 'li') this.add('- ');
    if (name === 'li' || name === 'tr' || name === 'dd') {
      if (!this.#isFirst) this.#glue = '\n';
      this.#isFirst = false;
    }
    if (name === 'li') this.#items++;
    if ((name === 'ul' || name === 'ol' || name === 'table') && this.#items === 0) this.#isFirst = true;
    return () => {
      if (name === 'tr') this.#rows--;
      if (name === 'li') this.#items--;
      this.end();
    };
  }

  end(): void {
    const lines = this.#parts.join('').split('\n');
    const text = lines.map((line) => line.replace(/ {2,}/g, ' ').trim()).join('\n');
    if (text.trim() !== '-') this.#builder.block(text.trim(), this.#glue);
    this.#parts.length = 0;
    this.#hasText = false;
    this.#glue = '\n\n';
  }
}
