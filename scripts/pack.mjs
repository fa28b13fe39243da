// Commits to deploy/packed what `npm start` shows without building it: `npm run pack` writes it anew, `--check` fails if it is older than its
// sources, which a release refuses.
import { artifacts, pack, packedManifest, sourcesOf } from './bootstrap/artifacts.mjs';

const isFresh = ({ name, ...artifact }) => packedManifest()[name]?.sources === sourcesOf(artifact);
const stale = () => artifacts.filter((artifact) => !isFresh(artifact)).map(({ name }) => name);

if (process.argv[2] !== '--check') pack();
for (const name of stale()) {
  console.error(`deploy/packed/${name} is older than its sources: npm run pack, and commit it`);
  process.exitCode = 1;
}
