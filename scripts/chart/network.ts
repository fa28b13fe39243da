import type { Labels, Resource } from './rendered.ts';

interface Selector {
  matchLabels?: Labels;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}

interface Peer {
  podSelector?: Selector;
  namespaceSelector?: Selector;
  ipBlock?: { cidr: string; except?: string[] };
}

interface Rule {
  from?: Peer[];
  to?: Peer[];
  ports?: { port?: number; endPort?: number }[];
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
  /** Set where no policy selects the pods, or a rule names no peers. */
  everybody: boolean;
}

/** Returns the network policies among resources. */
export function policiesOf(resources: Resource[]): Policy[] {
  return resources.filter(({ kind }) => kind === 'NetworkPolicy').map(({ spec }) => spec as unknown as Policy);
}

/** Returns whether policies allow a connection between pods of one namespace, at both of its ends. */
export function allows(policies: Policy[], from: Labels, to: Labels, port: number): boolean {
  return isPeer(reachOf(policies, 'Egress', from, port), to) && isPeer(reachOf(policies, 'Ingress', to, port), from);
}

/** Returns whom pods may reach at a port (Egress), or who may reach theirs (Ingress). */
export function reachOf(policies: Policy[], type: 'Ingress' | 'Egress', pods: Labels, port: number): Reach {
  const selecting = policies.filter((policy) => policy.policyTypes.includes(type) && selects(policy.podSelector, pods));
  if (selecting.length === 0) return { peers: [], everybody: true };
  const lists = selecting
    .flatMap(({ ingress, egress }) => (type === 'Ingress' ? ingress : egress) ?? [])
    .filter(({ ports = [{}] }) =>
      ports.some(({ port: first = 0, endPort = first || 65_535 }) => first <= port && port <= endPort),
    )
    .map(({ from, to }) => (type === 'Ingress' ? from : to) ?? []);
  return { peers: lists.flat(), everybody: lists.some((list) => list.length === 0) };
}

/** Returns whether pods of the same namespace are among the peers. */
function isPeer({ peers, everybody }: Reach, pods: Labels): boolean {
  const isSelected = ({ podSelector, namespaceSelector }: Peer) =>
    podSelector !== undefined && namespaceSelector === undefined && selects(podSelector, pods);
  return everybody || peers.some(isSelected);
}

/**
 * Returns whether a selector selects pods with some labels.
 * @throws Error for an operator that the chart does not use
 */
export function selects({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Labels): boolean {
  const isIn = ({ key, operator, values = [] }: NonNullable<Selector['matchExpressions']>[number]) => {
    if (operator !== 'In') throw new Error(`the operator ${operator} of a selector is not known to this check`);
    return values.includes(labels[key] ?? '');
  };
  return Object.entries(matchLabels).every(([key, value]) => labels[key] === value) && matchExpressions.every(isIn);
}
