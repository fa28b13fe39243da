import type { RoutedOperation } from '@customer-platform/contracts/core';

/** Operations of a path by method. HEAD uses GET's. */
export interface Route {
  byMethod: Map<string, RoutedOperation>;
  /** The value of `Allow`, with HEAD if GET exists, and always with OPTIONS. */
  allow: string;
}

interface Node {
  children: Map<string, Node>;
  parameter: Node | undefined;
  route: Route | undefined;
}

/** The paths of all operations as a tree of segments. A fixed segment takes precedence over a parameter. */
export class RouteTable {
  readonly #root = emptyNode();

  constructor(operations: readonly RoutedOperation[]) {
    for (const operation of operations) this.#add(operation);
  }

  /** Returns the route of a path's segments, or undefined. */
  find(segments: readonly string[]): Route | undefined {
    return find(this.#root, segments, 0);
  }

  #add(operation: RoutedOperation): void {
    let node = this.#root;
    for (const segment of operation.path.split('/').slice(1)) {
      let next = segment.startsWith('{') ? node.parameter : node.children.get(segment);
      if (!next) {
        next = emptyNode();
        if (segment.startsWith('{')) node.parameter = next;
        else node.children.set(segment, next);
      }
      node = next;
    }
    const { byMethod } = node.route ?? { byMethod: new Map<string, RoutedOperation>() };
    if (byMethod.has(operation.method)) {
      throw new Error(
        `two operations have ${operation.method} ${operation.path}: ${operation.key} must get another path`,
      );
    }
    byMethod.set(operation.method, operation);
    const alsoAllowed = byMethod.has('GET') ? ['HEAD', 'OPTIONS'] : ['OPTIONS'];
    node.route = { byMethod, allow: [...byMethod.keys(), ...alsoAllowed].join(', ') };
  }
}

function find(node: Node, segments: readonly string[], index: number): Route | undefined {
  if (index === segments.length) return node.route;
  const child = node.children.get(segments[index]!);
  const found = child && find(child, segments, index + 1);
  return found ?? (node.parameter && find(node.parameter, segments, index + 1));
}

function emptyNode(): Node {
  return { children: new Map(), parameter: undefined, route: undefined };
}
