import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { imageRecipes } from './image-recipes.ts';
import { pulledCompose } from './pulled-compose.ts';

const root = join(import.meta.dirname, '../..');
const compose = readFileSync(join(root, 'docker-compose.yml'), 'utf8');
const registry = 'registry.example/team';

describe('the Compose file of a release', () => {
  it('builds nothing, and pulls the images that the release publishes', () => {
    const { services } = parse(pulledCompose(compose, registry), { merge: true }) as {
      services: Record<string, { image: string }>;
    };
    // Compose's defaults: ${NAME:-value}.
    const pulled = Object.values(services).map(({ image }) => image.replaceAll(/\$\{\w+:-([^}$]*)\}/g, '$1'));
    const published = imageRecipes(root, registry).filter(({ name }) => name !== 'platform');
    expect(pulled.filter((image) => image.startsWith(registry)).sort()).toEqual(published.map(({ tag }) => tag).sort());
    expect(JSON.stringify(services)).not.toContain('npm run');
  });

  it('requires the registry if the release does not know it', () => {
    expect(pulledCompose(compose, undefined)).toContain(
      `\${IMAGE_REGISTRY:?IMAGE_REGISTRY is missing, set it in .env to the registry and path of the images}/crm:`,
    );
  });

  it.each([
    ['has no image', '    command: [serve]\n', 'added has no image, so a release cannot pull it'],
    ['has a multi-line build', '    build:\n      context: .\n', 'added.build must be one line'],
    ['names an npm script', '    image: redis:8\n    command: [npm run compose:secrets]\n', 'has no npm scripts'],
  ])('is rejected if a service %s', (_, service, sentence) => {
    expect(() =>
      pulledCompose(compose.replace('\nvolumes:\n', `\n  added:\n${service}\nvolumes:\n`), registry),
    ).toThrow(sentence);
  });
});
