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

/** Network policy of a rendered chart. */
export interface Policy {
  podSelector: Selector;
  policyTypes: string[];
  ingress?: Rule[];
  egress?: Rule[];
}

/** Peers that pods can reach at a port, or that can reach the pods. */
export interface Reach {
  peers: Peer[];
  /** True if no policy selects the pods, or a rule names no peers. */
  everybody: boolean;
}

/** Returns the network policies among resources. */
export function policiesOf(resources: Resource[]): Policy[] {
  return resources.filter(({ kind }) => kind === 'NetworkPolicy').map(({ spec }) => spec as unknown as Policy);
}

/** Returns whether policies allow a connection between pods of one namespace, on both sides. */
export function allows(policies: Policy[], from: Labels, to: Labels, port: number): boolean {
  return isPeer(reachOf(policies, 'Egress', from, port), to) && isPeer(reachOf(policies, 'Ingress', to, port), from);
}

/** Returns the peers that pods may reach at a port (Egress), or that may reach the pods' port (Ingress). */
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
    if (operator !== 'In') throw new Error(`this check does not support the selector operator ${operator}`);
    return values.includes(labels[key] ?? '');
  };
  return Object.entries(matchLabels).every(([key, value]) => labels[key] === value) && matchExpressions.every(isIn);
}
