import { parseAllDocuments } from 'yaml';

/** A Kubernetes resource, as far as the checks look into it. */
export interface Resource {
  apiVersion: string;
  kind: string;
  metadata: { name: string; annotations?: Record<string, string> };
  spec?: Record<string, unknown>;
}

/** A variable of a container: a value, or a reference to a Secret. */
export interface Variable {
  name: string;
  value?: string;
  valueFrom?: { secretKeyRef?: { name: string; key: string } };
}

export interface Container {
  name: string;
  image: string;
  command?: string[];
  args?: string[];
  env?: Variable[];
  volumeMounts?: { name: string; mountPath: string }[];
  ports?: { name: string; containerPort: number }[];
  securityContext?: { readOnlyRootFilesystem?: boolean; allowPrivilegeEscalation?: boolean; capabilities?: unknown };
}

/** Pods of one Deployment or Job. */
export interface Pods {
  /** Name of the Deployment or Job. */
  name: string;
  /** app.kubernetes.io/component: the deployable, or what a Job is for. */
  component: string;
  /** Name of the container: the deployable whose image and settings it has. */
  program: string;
  kind: string;
  /** Set for a Job. */
  job?: { activeDeadlineSeconds?: number; backoffLimit?: number };
  labels: Record<string, string>;
  spec: {
    automountServiceAccountToken?: boolean;
    enableServiceLinks?: boolean;
    terminationGracePeriodSeconds?: number;
    restartPolicy?: string;
    nodeSelector?: Record<string, string>;
    imagePullSecrets?: { name: string }[];
    volumes?: { name: string }[];
    securityContext?: { runAsNonRoot?: boolean; runAsUser?: number; seccompProfile?: { type?: string } };
    containers: Container[];
  };
}

/**
 * Returns the resources of a rendered chart.
 * @throws Error that names the first document that is no resource
 */
export function readResources(text: string): Resource[] {
  return parseAllDocuments(text).flatMap((document, index) => {
    if (document.errors[0]) throw new Error(`document ${index + 1} is no YAML: ${document.errors[0].message}`);
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
    .map(({ kind, metadata: { name }, spec }) => {
      const { metadata, spec: pod } = spec!.template as {
        metadata: { labels: Record<string, string> };
        spec: Pods['spec'];
      };
      return {
        name,
        component: metadata.labels['app.kubernetes.io/component'] ?? '',
        program: pod.containers[0]?.name ?? '',
        kind,
        ...(kind === 'Job' ? { job: spec as NonNullable<Pods['job']> } : {}),
        labels: metadata.labels,
        spec: pod,
      };
    });
}
