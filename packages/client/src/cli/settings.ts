import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { baseUrlRule, isBaseUrl } from '../requests/base-url.ts';
import { SetupError } from './errors.ts';

/** Address of the API and the key to it. */
export interface Credentials {
  url: string;
  key: string;
}

/** Files of the tool, for its user alone. */
export interface Settings {
  /** Returns a file's JSON; undefined if there is no such file. Throws SetupError if it cannot be read. */
  read(name: string): Promise<unknown>;
  /** Writes a file as a whole or not at all. */
  write(name: string, value: unknown): Promise<void>;
  remove(name: string): Promise<void>;
  pathOf(name: string): string;
}

/** File of the stored credentials. */
export const credentialsFile = 'credentials.json';

/** Returns the tool's files in `$XDG_CONFIG_HOME/customer-platform`, else in ~/.config/customer-platform. */
export function openSettings(env: NodeJS.ProcessEnv): Settings {
  const directory = join(env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'customer-platform');
  const pathOf = (name: string) => join(directory, name);
  return {
    pathOf,
    async read(name) {
      try {
        return JSON.parse(await readFile(pathOf(name), 'utf8')) as unknown;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
        throw new SetupError(`${pathOf(name)} cannot be read: ${(error as Error).message}`);
      }
    },
    async write(name, value) {
      const [path, draft] = [pathOf(name), pathOf(`${name}.${process.pid}.draft`)];
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await writeFile(draft, `${JSON.stringify(value)}\n`, { mode: 0o600 });
      // A draft that a killed process left keeps the rights that it had.
      await chmod(draft, 0o600);
      await rename(draft, path);
    },
    remove: (name) => rm(pathOf(name), { force: true }),
  };
}

/**
 * Returns the address and the key: of the environment, else those that `login` stored. A stored key goes to the address alone that it was
 * stored with. Throws SetupError without them.
 */
export async function findCredentials(env: NodeJS.ProcessEnv, settings: Settings): Promise<Credentials> {
  const { CUSTOMER_PLATFORM_KEY: key, CUSTOMER_PLATFORM_URL: url } = env;
  if (url && !isBaseUrl(url)) throw new SetupError(`CUSTOMER_PLATFORM_URL ${baseUrlRule(url)}`);
  if (key && url) return { url, key };
  const stored = (await settings.read(credentialsFile)) as Partial<Credentials> | undefined;
  if (key) {
    if (stored?.url) return { url: stored.url, key };
    throw new SetupError("CUSTOMER_PLATFORM_URL must be set to the API's address beside CUSTOMER_PLATFORM_KEY");
  }
  if (!stored?.key || !stored.url) {
    throw new SetupError(
      'There is no key: run customer-platform login, or set CUSTOMER_PLATFORM_KEY and CUSTOMER_PLATFORM_URL',
    );
  }
  if (url && url.replace(/\/$/, '') !== stored.url.replace(/\/$/, '')) {
    throw new SetupError(`The stored key is for ${stored.url}: set CUSTOMER_PLATFORM_KEY too, or log in to ${url}`);
  }
  return { url: stored.url, key: stored.key };
}
