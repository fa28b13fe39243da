import { baseConfig } from '@customer-platform/service-kit';
import type { z } from 'zod';
import { type Pods, podsOf, type Resource, type Variable } from './rendered.ts';

/** Value that a Secret may have under each key: long enough for a token, and 32 bytes in base64. */
const anySecret = `${'A'.repeat(43)}=`;

/** Returns the object that parses a process's settings at its start. */
export async function configOf(name: string): Promise<z.ZodObject> {
  const module = (await import(`@customer-platform/${name}`)) as Record<string, { config: z.ZodObject }> & {
    gatewayConfig?: z.ZodObject;
  };
  return module.gatewayConfig ?? module[name]?.config ?? baseConfig;
}

/** Returns a sentence for each setting of a rendered process that the process itself would refuse at its start. */
export async function refusedSettings(resources: Resource[], deployables: string[]): Promise<string[]> {
  const pods = podsOf(resources).filter(({ program }) => deployables.includes(program));
  const faults = await Promise.all(pods.map(refusedOf));
  return faults.flat();
}

async function refusedOf({ name: pods, program, spec }: Pods): Promise<string[]> {
  const environment = environmentOf(spec.containers[0]?.env ?? []);
  const parsed = (await configOf(program)).safeParse(environment);
  const urls = ['DATABASE_URL', 'NATS_URL', 'REDIS_URL']
    .flatMap((name) => (environment[name] ?? '').split(',').map((url) => ({ name, url })))
    .filter(({ url }) => url !== '' && !URL.canParse(url) && url !== anySecret)
    .map(({ name, url }) => `${pods}: ${name} is ${url}, which is no URL`);
  const refused = parsed.error?.issues.map(({ path, message }) => `${pods}: ${path.join('.')}: ${message}`) ?? [];
  return [...refused, ...urls];
}

/** Returns the variables as the container gets them: $(NAME) is the value of an earlier one, as Kubernetes has it. */
export function environmentOf(variables: Variable[]): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const { name, value } of variables) {
    environment[name] =
      value === undefined ? anySecret : value.replaceAll(/\$\((\w+)\)/g, (text, of) => environment[of] ?? text);
  }
  return environment;
}
