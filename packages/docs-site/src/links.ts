/** Relative link in a Markdown text, or link within the text. */
export interface Link {
  /** Link as written, such as `webhooks.md#retries`. */
  target: string;
  /** The part before `#`; empty for a link within the text. */
  file: string;
  /** `#` and the part after it; empty if missing. */
  hash: string;
  /** Line number in the text, from 1. */
  line: number;
}

/** Target of a Markdown link, whose text may begin on an earlier line, or of a link definition. */
const linkEnd = /(?<=\]\(|^\[[^\]\n]+\]: +)([^()\s]+)(?=\)|\s*$)/gm;

/** Returns the relative links of a Markdown text, without those in code. */
export function linksOf(text: string): Link[] {
  const links: Link[] = [];
  withLinks(text, (link) => {
    links.push(link);
    return link.target;
  });
  return links;
}

/** Returns a Markdown text with other targets for its relative links. */
export function withLinks(text: string, replace: (link: Link) => string): string {
  const prose = withoutCode(text);
  let result = '';
  let end = 0;
  for (const { 0: target, index } of prose.matchAll(linkEnd)) {
    if (/^(?:[a-z]+:|\/)/.test(target)) continue;
    const [file, fragment] = target.split('#') as [string, string?];
    const line = prose.slice(0, index).split('\n').length;
    result += text.slice(end, index);
    result += replace({ target, file, hash: fragment === undefined ? '' : `#${fragment}`, line });
    end = index + target.length;
  }
  return result + text.slice(end);
}

/** Returns the text with spaces in place of code, so that all other characters keep their positions. */
function withoutCode(text: string): string {
  let fence: string | undefined;
  const lines = text.split('\n').map((line) => {
    const [mark] = /^ *(?:```+|~~~+)/.exec(line) ?? [];
    if (fence === undefined && mark === undefined) return line;
    if (fence === undefined) fence = mark;
    else if (line.trimEnd() === fence) fence = undefined;
    return ' '.repeat(line.length);
  });
  const blank = (code: string) => code.replaceAll(/[^\n]/g, ' ');
  return lines.join('\n').replaceAll(/(?<!`)(`+)(?!`)[\s\S]*?(?<!`)\1(?!`)/g, blank);
}
