import { parse } from 'yaml';
import { localRegistry } from './image-recipes.ts';

const build = /^ {4}build: \{.*\}\n/gm;

/**
 * Returns docker-compose.yml for an installation without a checkout. It pulls images, and the image of all deployables writes the secrets.
 * Throws an Error that names a service that it could not start.
 * @param registry registry and path of the images if IMAGE_REGISTRY is not set; undefined: IMAGE_REGISTRY must be set
 */
export function pulledCompose(text: string, registry: string | undefined): string {
  const missing = 'IMAGE_REGISTRY is missing, set it in .env to the registry and path of the images';
  const pulled = text
    .replace(/^# The platform in containers:.*\n# Settings come.*\n/, preface)
    .replaceAll(build, '')
    .replaceAll(
      `\${IMAGE_REGISTRY:-${localRegistry}}`,
      `\${IMAGE_REGISTRY:${registry ? `-${registry}` : `?${missing}`}}`,
    )
    .replaceAll(
      'run npm run compose:secrets (-- --add-missing after an update)',
      'run customer-platform secrets (--add-missing after an update)',
    );
  const { services } = parse(pulled, { merge: true }) as {
    services: Record<string, { image?: string; build?: unknown }>;
  };
  for (const [name, service] of Object.entries(services)) {
    if (service.build !== undefined) throw new Error(`docker-compose.yml: ${name}.build must be one line, { … }`);
    if (!service.image) throw new Error(`docker-compose.yml: ${name} has no image, so a release cannot pull it`);
  }
  const npm = pulled.split('\n').find((line) => line.includes('npm run compose'));
  if (npm) throw new Error(`docker-compose.yml: a release has no npm scripts: ${npm.trim()}`);
  return pulled;
}

const preface = `# The platform in containers, from released images. Settings come from .env, which the image "platform" writes:
#   docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/work" -w /work <registry>/platform secrets
`;
