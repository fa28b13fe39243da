/** The part of a DOM element that this module uses. */
export interface PageElement {
  readonly localName: string;
  readonly parentElement: PageElement | null;
  readonly previousElementSibling: PageElement | null;
  readonly nextElementSibling: PageElement | null;
  readonly firstChild: object | null;
  readonly childNodes: ArrayLike<{ readonly nodeType: number; readonly textContent: string | null }>;
  readonly ownerDocument: { createElement(name: string): PageElement };
  readonly textContent: string | null;
  getAttribute(name: string): string | null;
  setAttribute(name: string, value: string): void;
  removeAttribute(name: string): void;
  closest(selector: string): PageElement | null;
  querySelectorAll(selector: string): ArrayLike<PageElement>;
  append(child: object): void;
  prepend(child: object): void;
  replaceWith(other: PageElement): void;
}

/** Attribute of content that the page shows after a click. */
const revealedAttribute = 'data-revealed';
/** Attribute of an empty element before the first text of revealed content. Its number survives when Readability replaces elements. */
const markAttribute = 'data-revealed-mark';
/** Elements whose content is never shown. */
const unseen = new Set('script style template noscript'.split(' '));
/** Content outside a page's text even when it is visible. Menus are also recognized by their links. */
const asideTags = new Set('nav aside footer dialog select svg'.split(' '));
const asideRoles = new Set(
  'alert alertdialog banner complementary dialog menu menubar navigation search status tooltip'.split(' '),
);
const asideNames =
  /(?:\b|_)(?:banner|comments?|consent|cookie\w*|gdpr|lightbox|loading|modal|newsletter|overlay|popup|search|spinner|toast|tooltip)(?:\b|_)/i;
/** Elements that are more than decoration when they are hidden from screen readers. */
const panels = new Set('article body dd details div dl figure li main ol p section table tbody td tr ul'.split(' '));
const hiddenStyle = /(?:^|[;\s])(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))/i;
const hiddenClass = /(?:^|\s)(?:collapse|d-none|hide|(?:is-|u-)?hidden)(?:\s|$)/i;
/** Elements whose whole text is a button inside them. */
const labels = new Set('h1 h2 h3 h4 h5 h6 summary dt label'.split(' '));
const openingNames = /accordion|collaps|expand|faq|question|toggle/i;
/** Maximum length of the label of hidden content, such as a question or the name of a tab. */
const maxLabelLength = 200;

/**
 * Removes attributes that hide content until a click, so that Readability keeps that content. It turns buttons that show content into
 * text, and marks each outermost element that it reveals. Takes linear time.
 */
export function reveal(elements: readonly PageElement[]): void {
  const asides = new Set<PageElement | null>();
  /** Each element inside revealed content, and whether that content is already marked. */
  const inside = new Map<PageElement | null, { isMarked: boolean }>();
  let marks = 0;
  const main = withParents(elements.filter(isMain));
  for (let element of elements) {
    for (const name of [revealedAttribute, markAttribute]) element.removeAttribute(name);
    const { parentElement: parent, localName } = element;
    if (asides.has(parent) || (!main.has(element) && isAside(element))) {
      asides.add(element);
      continue;
    }
    if (localName === 'button' && opensContent(element)) element = turnedIntoText(element);
    const hiding = hidingAttributes(element);
    if (hiding.length > 0 && !inside.has(parent) && isOfLinks(element)) {
      asides.add(element);
      continue;
    }
    for (const name of hiding) element.removeAttribute(name);
    const isRevealed = hiding.length > 0 || localName === 'details';
    if (isRevealed && !inside.has(parent)) element.setAttribute(revealedAttribute, '');
    const content = inside.get(parent) ?? (isRevealed ? { isMarked: false } : undefined);
    if (!content) continue;
    inside.set(element, content);
    if (content.isMarked || !hasOwnText(element)) continue;
    const mark = element.ownerDocument.createElement('span');
    mark.setAttribute(markAttribute, `${marks++}`);
    element.prepend(mark);
    content.isMarked = true;
  }
}

export function hasRevealed(page: PageElement): boolean {
  return page.querySelectorAll(`[${markAttribute}]`).length > 0;
}

/** Returns the revealed elements of `page` whose text is not in `article`, each preceded by its label. */
export function revealedWithout(page: PageElement, article: PageElement): PageElement[] {
  const marksIn = (root: PageElement) => Array.from(root.querySelectorAll(`[${markAttribute}]`));
  const numberOf = (mark: PageElement) => mark.getAttribute(markAttribute);
  const kept = new Set(marksIn(article).map(numberOf));
  return marksIn(page)
    .filter((mark) => !kept.has(numberOf(mark)))
    .map((mark) => mark.closest(`[${revealedAttribute}]`)!)
    .flatMap((element) => [...labelOf(element), element]);
}

/** Returns the short element before a revealed one, which names its topic, if such an element exists. */
function labelOf(element: PageElement): PageElement[] {
  let before = element.previousElementSibling ?? element.parentElement?.previousElementSibling;
  while (before && unseen.has(before.localName)) before = before.previousElementSibling;
  const isLabel =
    element.localName !== 'details' &&
    before?.querySelectorAll(`[${markAttribute}]`).length === 0 &&
    (before.textContent ?? '').trim().length <= maxLabelLength;
  return before && isLabel ? [before] : [];
}

const textNode = 3;

function hasOwnText({ childNodes }: PageElement): boolean {
  return Array.from(childNodes).some(({ nodeType, textContent }) => nodeType === textNode && textContent?.trim());
}

function isMain(element: PageElement): boolean {
  return ['body', 'main', 'article'].includes(element.localName) || element.getAttribute('role') === 'main';
}

/** Returns the elements and all their ancestors. */
function withParents(elements: readonly PageElement[]): Set<PageElement> {
  const all = new Set<PageElement>();
  for (const element of elements)
    for (let at: PageElement | null = element; at && !all.has(at); at = at.parentElement) all.add(at);
  return all;
}

function isAside(element: PageElement): boolean {
  const names = `${element.getAttribute('id') ?? ''} ${element.getAttribute('class') ?? ''}`;
  return (
    asideNames.test(names) || asideTags.has(element.localName) || asideRoles.has(element.getAttribute('role') ?? '')
  );
}

/** Returns the names of the attributes that hide an element. */
function hidingAttributes(element: PageElement): string[] {
  return [
    ...(element.getAttribute('hidden') !== null ? ['hidden'] : []),
    ...(hiddenStyle.test(element.getAttribute('style') ?? '') ? ['style'] : []),
    ...(hiddenClass.test(element.getAttribute('class') ?? '') ? ['class'] : []),
    // Icons and other decoration also use this attribute.
    ...(element.getAttribute('aria-hidden') === 'true' && panels.has(element.localName) ? ['aria-hidden'] : []),
  ];
}

/** Returns whether a button acts as a heading or a question that shows the content below it. */
function opensContent(button: PageElement): boolean {
  const states = ['aria-expanded', 'aria-controls', 'data-toggle', 'data-bs-toggle'];
  const panel = button.nextElementSibling;
  return (
    labels.has(button.parentElement?.localName ?? '') ||
    button.getAttribute('role') === 'tab' ||
    states.some((name) => button.getAttribute(name) !== null) ||
    openingNames.test(button.getAttribute('class') ?? '') ||
    /[?？؟]\s*$/.test((button.textContent ?? '').slice(-maxLabelLength)) ||
    (panel !== null && panels.has(panel.localName) && hidingAttributes(panel).length > 0)
  );
}

function turnedIntoText(button: PageElement): PageElement {
  const text = button.ownerDocument.createElement(labels.has(button.parentElement?.localName ?? '') ? 'span' : 'p');
  for (let child = button.firstChild; child; child = button.firstChild) text.append(child);
  button.replaceWith(text);
  return text;
}

/** Returns whether links make up most of an element's text, as in a menu. */
function isOfLinks(element: PageElement): boolean {
  const lengthOf = ({ textContent }: PageElement) => (textContent ?? '').trim().length;
  const links = Array.from(element.querySelectorAll('a'), lengthOf);
  return links.length > 1 && links.reduce((sum, each) => sum + each, 0) * 2 > lengthOf(element);
}
