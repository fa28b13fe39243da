import { parseAllDocuments } from 'yaml';

/** The parts of a Kubernetes resource that the checks read. */
export interface Resource {
  kind: string;
  metadata: { name: string; annotations?: Record<string, string> };
  spec?: Record<string, unknown>;
}

/** Variable of a container: a value, or a reference to a Secret. */
export interface Variable {
  name: string;
  value?: string;
}

export type Labels = Record<string, string>;

/** Pods of one Deployment or Job. Each pod has one container. */
export interface Pods {
  /** Name of the Deployment or Job. */
  name: string;
  kind: string;
  annotations: Record<string, string>;
  /** app.kubernetes.io/component: the deployable, or the purpose of a Job. */
  component: string;
  labels: Labels;
  spec: {
    automountServiceAccountToken?: boolean;
    enableServiceLinks?: boolean;
    terminationGracePeriodSeconds?: number;
    restartPolicy?: string;
    nodeSelector?: Record<string, string>;
    imagePullSecrets?: { name: string }[];
    volumes?: { name: string }[];
    securityContext?: { runAsNonRoot?: boolean; runAsUser?: number; seccompProfile?: { type?: string } };
  };
  container: {
    /** Deployable that the container's image and settings belong to. */
    name: string;
    image: string;
    command?: string[];
    args?: string[];
    env?: Variable[];
    volumeMounts?: { name: string }[];
    securityContext?: { readOnlyRootFilesystem?: boolean; allowPrivilegeEscalation?: boolean; capabilities?: unknown };
  };
  /** Limits of a Job. */
  job: { activeDeadlineSeconds?: number; backoffLimit?: number };
}

/**
 * Returns the resources of a rendered chart.
 * @throws Error that names the first document that is not a resource
 */
export function readResources(text: string): Resource[] {
  return parseAllDocuments(text).flatMap((document, index) => {
    if (document.errors[0]) throw new Error(`document ${index + 1} is not YAML: ${document.errors[0].message}`);
    const resource = document.toJS() as Resource | null;
    if (resource === null) return [];
    if (!resource.kind || !resource.metadata?.name) throw new Error(`document ${index + 1} has no kind or no name`);
    return [resource];
  });
}

/** Returns the pods that Deployments and Jobs create. */
export function podsOf(resources: Resource[]): Pods[] {
  return resources
    .filter(({ kind }) => kind === 'Deployment' || kind === 'Job')
    .map(({ kind, metadata: { name, annotations = {} }, spec = {} }) => {
      const template = spec.template as {
        metadata: { labels: Labels };
        spec: Pods['spec'] & { containers: [Pods['container']] };
      };
      const { labels } = template.metadata;
      const component = labels['app.kubernetes.io/component'] ?? '';
      const [container] = template.spec.containers;
      return { name, kind, annotations, component, labels, spec: template.spec, container, job: spec };
    });
}
