import { createHash } from 'node:crypto';
import { appendFileSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** An element's opening tag with a `style` attribute: what is before the attribute, its value, and what is after it. */
const styledTag = /<([a-z][\w-]*(?: [^<>]*?)?) style="([^"]*)"([^<>]*)>/g;
const inlineScript = /<script(?![^>]* src=)[^>]*>([\s\S]*?)<\/script>/g;

/**
 * Makes the pages work without `unsafe-inline`: moves their style attributes, most of them colours of code, into a style sheet, and writes
 * `csp.json` with the hashes of their inline scripts, for the gateway's policy.
 */
export function writeContentPolicy(dist: string): void {
  const classes = new Map<string, string>();
  const scripts = new Set<string>();
  for (const file of globSync('**/*.html', { cwd: dist }).sort()) {
    const path = join(dist, file);
    const page = withClasses(readFileSync(path, 'utf8'), classes);
    for (const [, script] of page.matchAll(inlineScript)) scripts.add(`'sha256-${sha256(script!)}'`);
    writeFileSync(path, page);
  }
  const [sheet] = globSync('_astro/common.*.css', { cwd: dist });
  if (sheet === undefined)
    throw new Error('Astro wrote no _astro/common.*.css, to which the styles of attributes are added');
  appendFileSync(join(dist, sheet), [...classes].map(([style, name]) => `.${name}{${style}}`).join('\n'));
  const sources = { 'script-src': [...scripts].sort() };
  writeFileSync(join(dist, 'csp.json'), `${JSON.stringify(sources, null, 2)}\n`);
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('base64');

/** Returns a page with a class for each style attribute. What a script of the page shows later, is hidden by an attribute instead. */
function withClasses(page: string, classes: Map<string, string>): string {
  return page.replaceAll(styledTag, (_, before: string, style: string, after: string) => {
    if (style === 'display: none;') return `<${before}${after}>`;
    const name = classes.get(style) ?? `s${classes.size}`;
    classes.set(style, name);
    const tag = `${before}${after}`;
    return / class="/.test(tag) ? `<${tag.replace(/ class="/, ` class="${name} `)}>` : `<${tag} class="${name}">`;
  });
}
