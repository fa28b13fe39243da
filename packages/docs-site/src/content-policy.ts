import { createHash } from 'node:crypto';
import { appendFileSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const tag = /<[a-z][^<>]*>/g;
const styleAttribute = / style="([^"]*)"/;

/**
 * Makes the pages work without `unsafe-inline`. Moves style attributes, mostly colors of code, into a style sheet, and writes
 * `csp.json` with the hashes of inline scripts for the gateway's policy.
 */
export function writeContentPolicy(dist: string): void {
  const classes = new Map<string, string>();
  const scripts = new Set<string>();
  for (const file of globSync('**/*.html', { cwd: dist }).sort()) {
    const path = join(dist, file);
    const page = readFileSync(path, 'utf8').replaceAll(tag, (each) => withClass(each, classes));
    for (const script of inlineScriptsOf(page)) scripts.add(`'sha256-${sha256(script)}'`);
    writeFileSync(path, page);
  }
  const [sheet] = globSync('_astro/common.*.css', { cwd: dist });
  if (sheet === undefined)
    throw new Error('Astro wrote no _astro/common.*.css, which must exist so that moved styles can be appended');
  appendFileSync(join(dist, sheet), [...classes].map(([style, name]) => `.${name}{${style}}`).join('\n'));
  writeFileSync(join(dist, 'csp.json'), `${JSON.stringify({ 'script-src': [...scripts].sort() }, null, 2)}\n`);
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('base64');

/** Returns a tag with a class in place of its style attribute. */
function withClass(written: string, classes: Map<string, string>): string {
  const [attribute, style] = styleAttribute.exec(written) ?? [];
  if (attribute === undefined || style === undefined) return written;
  const rest = written.replace(attribute, '');
  // The search's key hint. A script would show it by removing the style, but site.css always hides it.
  if (style === 'display: none;') return rest;
  const name = classes.get(style) ?? `s${classes.size}`;
  classes.set(style, name);
  if (rest.includes(' class="')) return rest.replace(' class="', ` class="${name} `);
  return rest.replace(/^<[\w-]+/, `$& class="${name}"`);
}

function inlineScriptsOf(page: string): string[] {
  return page.split('<script').flatMap((part, index) => {
    const start = part.indexOf('>') + 1;
    if (index === 0 || part.slice(0, start).includes(' src=')) return [];
    return [part.slice(start, part.indexOf('</script>'))];
  });
}
