import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { baseUrlRule, isBaseUrl } from '../requests/base-url.ts';
import { SetupError } from './errors.ts';

/** The API's address and key. */
export interface Credentials {
  url: string;
  key: string;
}

/** The tool's files, which only their owner can read. */
export interface Settings {
  /** Returns a file's JSON; undefined if there is no such file. Throws SetupError if it cannot be read. */
  read(name: string): Promise<unknown>;
  /** Writes a file atomically. */
  write(name: string, value: unknown): Promise<void>;
  remove(name: string): Promise<void>;
  pathOf(name: string): string;
}

/** File of the stored credentials. */
export const credentialsFile = 'credentials.json';

/** Returns the tool's files. The folder is `$XDG_CONFIG_HOME/customer-platform`, or else ~/.config/customer-platform. */
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
      // writeFile does not change the mode of a draft that a killed process left.
      await chmod(draft, 0o600);
      await rename(draft, path);
    },
    remove: (name) => rm(pathOf(name), { force: true }),
  };
}

/**
 * Returns the address and the key from the environment, or else those that `login` stored. A stored key is sent only to the address it was
 * stored with. Throws SetupError if the address or the key is missing.
 */
export async function findCredentials(env: NodeJS.ProcessEnv, settings: Settings): Promise<Credentials> {
  const { CUSTOMER_PLATFORM_KEY: key, CUSTOMER_PLATFORM_URL: url } = env;
  if (url && !isBaseUrl(url)) throw new SetupError(`CUSTOMER_PLATFORM_URL ${baseUrlRule(url)}`);
  if (key && url) return { url, key };
  const stored = (await settings.read(credentialsFile)) as Partial<Credentials> | undefined;
  if (key) {
    if (stored?.url) return { url: stored.url, key };
    throw new SetupError("CUSTOMER_PLATFORM_URL must be set to the API's address when CUSTOMER_PLATFORM_KEY is set");
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
