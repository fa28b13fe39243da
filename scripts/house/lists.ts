import type { Node } from '../syntax.ts';
import type { Exception } from './ratchet.ts';
import type { Source } from './source.ts';

/** Returns how many literals a file spreads into others of their kind, as is done to keep lines few; none where it spreads none. */
export function spreadListsOf({ file, syntax }: Source): Exception[] {
  const spread = syntax.nodes.filter((node) => node.type === 'SpreadElement' && isLiteral(node.argument as Node));
  if (spread.length === 0) return [];
  const lines = spread.map((node) => node.loc.start.line);
  const sentence = `spreads literals into others at line ${lines.join(', ')}; write their elements there`;
  return [{ name: file, number: spread.length, where: `${file}:${lines[0]}`, sentence }];
}

function isLiteral({ type, expression }: Node): boolean {
  if (type === 'TSAsExpression' || type === 'TSSatisfiesExpression') return isLiteral(expression as Node);
  return type === 'ArrayExpression' || type === 'ObjectExpression';
}
