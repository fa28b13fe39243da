import { execFileSync } from 'node:child_process';
import { deployableVersions, versionIn } from '../deployables.ts';

/** Recipe to build an image. */
export interface ImageRecipe {
  /** Name in the registry, such as `calendar`. */
  name: string;
  tag: string;
  /** Arguments of `docker build` without the tag and the folder. */
  args: string[];
  /** Folder that is built, relative to the repository. */
  context: string;
}

/** Prefix for the names of locally built images. No registry serves it, so nothing is pulled from it. */
export const localRegistry = 'localhost/customer-platform';

/** Returns the recipes of all images: all deployables in one, each deployable, `provision`, and NATS with the platform's users. */
export function imageRecipes(root: string, registry = process.env.IMAGE_REGISTRY || localRegistry): ImageRecipe[] {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
  const revision = git('rev-parse', 'HEAD');
  // BuildKit uses it as the image's time, so that the same commit gives the same image.
  const epoch = process.env.SOURCE_DATE_EPOCH || git('log', '-1', '--format=%ct');
  const recipe = (name: string, version: string, context: string, ...args: string[]): ImageRecipe => ({
    name,
    tag: `${registry}/${name}:${version}`,
    args: [
      ...args,
      ...['--build-arg', `SOURCE_DATE_EPOCH=${epoch}`],
      ...['--label', `org.opencontainers.image.version=${version}`],
      ...['--label', `org.opencontainers.image.revision=${revision}`],
    ],
    context,
  });
  const deployables = { platform: versionIn(root, '.'), ...deployableVersions(root) };
  return [
    ...Object.entries(deployables).map(([name, version]) =>
      recipe(name, version, '.', '--file', 'deploy/Dockerfile', '--build-arg', `SERVICE=${name}`),
    ),
    recipe('nats', versionIn(root, 'deploy'), 'deploy/nats'),
  ];
}
