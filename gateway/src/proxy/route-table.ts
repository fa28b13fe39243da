import type { Method, Operation } from '@customer-platform/contracts/core';

/** Operations of a path, by method. */
export interface Route {
  byMethod: ReadonlyMap<string, Operation>;
  /** The value of `Allow`: HEAD wherever there is GET, OPTIONS always. */
  allow: string;
}

interface Node {
  children: Map<string, Node>;
  parameter: Node | undefined;
  operations: Map<Method, Operation>;
  route: Route | undefined;
}

/** The paths of all operations as a tree of segments; a fixed segment goes before a parameter. */
export class RouteTable {
  readonly #root = emptyNode();

  constructor(operations: readonly Operation[]) {
    for (const operation of operations) this.#add(operation);
    complete(this.#root);
  }

  /** Returns the route of a path's segments, undefined if there is none. */
  find(segments: readonly string[]): Route | undefined {
    return find(this.#root, segments, 0);
  }

  #add(operation: Operation): void {
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
    if (node.operations.has(operation.method)) {
      throw new Error(
        `two operations have ${operation.method} ${operation.path}: ${operation.key} must get another path`,
      );
    }
    node.operations.set(operation.method, operation);
  }
}

function find(node: Node, segments: readonly string[], index: number): Route | undefined {
  if (index === segments.length) return node.route;
  const child = node.children.get(segments[index]!);
  const found = child && find(child, segments, index + 1);
  return found ?? (node.parameter && find(node.parameter, segments, index + 1));
}

function complete(node: Node): void {
  if (node.operations.size > 0) {
    const byMethod = new Map<string, Operation>(node.operations);
    const get = node.operations.get('GET');
    if (get) byMethod.set('HEAD', get);
    node.route = { byMethod, allow: [...byMethod.keys(), 'OPTIONS'].join(', ') };
  }
  for (const child of node.children.values()) complete(child);
  if (node.parameter) complete(node.parameter);
}

function emptyNode(): Node {
  return { children: new Map(), parameter: undefined, operations: new Map(), route: undefined };
}
