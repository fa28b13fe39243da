/** Kinds of a release, the largest first. */
export const releaseKinds = ['major', 'minor', 'patch'] as const;
export type ReleaseKind = (typeof releaseKinds)[number];

/** Returns the version of the next release. Throws an Error if the version is not three numbers. */
export function nextVersion(version: string, kind: ReleaseKind): string {
  const parts = /^(\d+)\.(\d+)\.(\d+)$/.exec(version)?.slice(1).map(Number);
  if (!parts) throw new Error(`the version ${version} must be three numbers, such as 1.4.0`);
  const [major, minor, patch] = parts as [number, number, number];
  if (kind === 'major') return `${major + 1}.0.0`;
  return kind === 'minor' ? `${major}.${minor + 1}.0` : `${major}.${minor}.${patch + 1}`;
}

/** Returns the text of a package.json with another version and no other change. Throws an Error if it has no version. */
export function manifestWith(text: string, version: string): string {
  return replacedOnce(text, /^( {2}"version": )"[^"]*"/m, version, 'package.json has no version');
}

/** Returns the text of a package-lock.json with another version of the workspace in `folder`, '' for the root. Throws an Error if it has none there. */
export function lockFileWith(text: string, folder: string, version: string): string {
  const start = text.indexOf(`\n    "${folder}": {\n`);
  const missing = `package-lock.json has no version of ${folder}`;
  if (start < 0) throw new Error(missing);
  const end = text.indexOf('\n    }', start);
  const entry = replacedOnce(text.slice(start, end), /^( {6}"version": )"[^"]*"/m, version, missing);
  return text.slice(0, start) + entry + text.slice(end);
}

/** Returns the text of a YAML file with another version at a key of its top level. Throws an Error if it has no such key. */
export function yamlWith(text: string, key: string, version: string): string {
  const line = new RegExp(`^${RegExp.escape(key)}: .*$`, 'm');
  if (!line.test(text)) throw new Error(`"${key}: " is missing`);
  return text.replace(line, `${key}: ${version}`);
}

function replacedOnce(text: string, pattern: RegExp, version: string, missing: string): string {
  if (!pattern.test(text)) throw new Error(missing);
  return text.replace(pattern, (_, name: string) => `${name}"${version}"`);
}

/** Returns the variable of docker-compose.yml that sets a deployable's image tag. */
export function imageVariableOf(deployable: string): string {
  return `${deployable.toUpperCase()}_VERSION`;
}

/** Returns the text of docker-compose.yml with another default tag of an image. Throws an Error if it has no such image. */
export function composeWith(text: string, image: string, version: string, variable = imageVariableOf(image)): string {
  const [before, after] = [`/${image}:\${${variable}:-`, '}'];
  const start = text.indexOf(before);
  if (start < 0) throw new Error(`docker-compose.yml has no "${before}…${after}"`);
  const from = start + before.length;
  return text.slice(0, from) + version + text.slice(text.indexOf(after, from));
}
