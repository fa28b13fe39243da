import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { imageRecipes, localRegistry } from './release/image-recipes.ts';
import { firstTool } from './tool.ts';

const root = join(import.meta.dirname, '..');
const recipes = imageRecipes(root);
const usage = `Builds images with Docker: all images, or the named ones.

  npm run images [-- [<name> …] [<flags of docker build>]]
  npm run images -- platform calendar
  npm run images -- gateway --platform linux/amd64,linux/arm64 --push
  npm run -s images -- --list    prints names and tags as JSON and builds nothing

Names: ${recipes.map(({ name }) => name).join(', ')}
IMAGE_REGISTRY is the registry and path in front of the names; default: ${localRegistry}.`;

process.exitCode = run(process.argv.slice(2));

/** Returns the exit code: 0 done, 1 an image cannot be built, 2 invalid arguments. */
function run(args: string[]): number {
  if (args[0] === '--help' || args[0] === '-h') return say(usage, 0);
  const firstFlag = args.findIndex((argument) => argument.startsWith('-'));
  const names = firstFlag < 0 ? args : args.slice(0, firstFlag);
  const flags = firstFlag < 0 ? [] : args.slice(firstFlag);
  const unknown = names.filter((name) => !recipes.some((recipe) => recipe.name === name));
  if (unknown.length > 0) return say(`unknown image: ${unknown.join(', ')}\n\n${usage}`, 2);
  const chosen = recipes.filter(({ name }) => names.length === 0 || names.includes(name));
  if (flags[0] === '--list') return say(JSON.stringify(chosen.map(({ name, tag }) => ({ name, tag }))), 0);
  if (!firstTool(['docker'], 'info'))
    return say('npm run images needs Docker: its engine did not respond to `docker info`', 1);
  for (const { tag, args: recipe, context } of chosen) {
    console.log(`images: ${tag}`);
    const build = ['build', ...recipe, '--tag', tag, ...flags, context];
    const { status } = spawnSync('docker', build, { cwd: root, stdio: 'inherit' });
    if (status !== 0) return say(`${tag} was not built`, 1);
  }
  return 0;
}

function say(text: string, exitCode: number): number {
  if (exitCode === 0) console.log(text);
  else console.error(text);
  return exitCode;
}
