import { useQuery } from '@tanstack/react-query';

/** The product's name, as titles and the header have it. */
export const product = 'Customer Platform';

/** Name of the environment that the gateway serves this page for, empty where it has none. */
export const environment = document.querySelector<HTMLMetaElement>('meta[name="environment"]')?.content.trim() ?? '';

/** How much care an environment asks for: its colour. One word of its name says so, as in `prod-eu` or `eu staging`. */
export function careOf(name: string): 'production' | 'staging' | 'other' {
  if (/\b(?:prod|live)/i.test(name)) return 'production';
  return /\b(?:stag|uat|pre)/i.test(name) ? 'staging' : 'other';
}

/** Version of the gateway that serves this page; undefined until it responded. */
export function useVersion(): string | undefined {
  const { data } = useQuery({
    queryKey: ['version'],
    queryFn: async ({ signal }) => {
      const response = await fetch('/healthz', { signal });
      const { version } = (await response.json()) as { version: string };
      return version;
    },
    staleTime: 60_000,
  });
  return data;
}
