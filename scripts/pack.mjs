// Packs the artifacts that `npm start` serves without a build into deploy/packed. `--check` fails if a packed artifact is older than its
// sources; a release requires this check to pass.
import { artifacts, pack, packedManifest, sourcesOf } from './bootstrap/artifacts.mjs';

const isFresh = ({ name, ...artifact }) => packedManifest()[name]?.sources === sourcesOf(artifact);
const stale = () => artifacts.filter((artifact) => !isFresh(artifact)).map(({ name }) => name);

if (process.argv[2] !== '--check') pack();
for (const name of stale()) {
  console.error(`deploy/packed/${name} is older than its sources: run npm run pack and commit the result`);
  process.exitCode = 1;
}
