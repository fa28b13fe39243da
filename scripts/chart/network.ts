import type { Pods, Resource } from './rendered.ts';

interface Selector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}

interface Peer {
  podSelector?: Selector;
  namespaceSelector?: Selector;
  ipBlock?: { cidr: string; except?: string[] };
}

interface Port {
  port?: number;
  endPort?: number;
}

interface Rule {
  from?: Peer[];
  to?: Peer[];
  ports?: Port[];
}

/** A network policy of a rendered chart. */
export interface Policy {
  podSelector: Selector;
  policyTypes: string[];
  ingress?: Rule[];
  egress?: Rule[];
}

/** Peers that pods reach at a port, or that reach them. */
export interface Reach {
  peers: Peer[];
  /** Set where a rule names nobody, which is everybody. */
  everybody: boolean;
}

/** Returns the network policies among resources. */
export function policiesOf(resources: Resource[]): Policy[] {
  return resources.filter(({ kind }) => kind === 'NetworkPolicy').map(({ spec }) => spec as unknown as Policy);
}

/** Connection between pods of one namespace, by their labels. */
export interface Connection {
  from: Pods['labels'];
  to: Pods['labels'];
  port: number;
}

/** Returns whether policies allow a connection, at both of its ends. */
export function allows(policies: Policy[], { from, to, port }: Connection): boolean {
  return isPeer(reachOf(policies, 'Egress', from, port), to) && isPeer(reachOf(policies, 'Ingress', to, port), from);
}

/** Returns whom pods may reach at a port (Egress), or who may reach theirs (Ingress). */
export function reachOf(policies: Policy[], type: 'Ingress' | 'Egress', pods: Pods['labels'], port: number): Reach {
  const selecting = policies.filter(
    ({ podSelector, policyTypes }) => policyTypes.includes(type) && selects(podSelector, pods),
  );
  // What no policy selects is reached by everybody, and reaches everybody.
  if (selecting.length === 0) return { peers: [], everybody: true };
  const rules = selecting
    .flatMap((policy) => (type === 'Ingress' ? policy.ingress : policy.egress) ?? [])
    .filter(({ ports }) => ports === undefined || ports.some((each) => hasPort(each, port)));
  const lists = rules.map((rule) => (type === 'Ingress' ? rule.from : rule.to) ?? []);
  return { peers: lists.flat(), everybody: lists.some((list) => list.length === 0) };
}

function hasPort({ port, endPort }: Port, wanted: number): boolean {
  return port === undefined || (port <= wanted && wanted <= (endPort ?? port));
}

/** Returns whether pods of the same namespace are among the peers. */
function isPeer({ peers, everybody }: Reach, pods: Pods['labels']): boolean {
  return (
    everybody ||
    peers.some(
      ({ podSelector, namespaceSelector }) =>
        podSelector !== undefined && namespaceSelector === undefined && selects(podSelector, pods),
    )
  );
}

/**
 * Returns whether a selector selects pods with some labels.
 * @throws Error for an operator that the chart does not use
 */
export function selects({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Pods['labels']): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      if (operator !== 'In') throw new Error(`the operator ${operator} of a selector is not known to this check`);
      return values.includes(labels[key] ?? '');
    })
  );
}
