import { useQuery } from '@tanstack/react-query';

/** The product's name, for titles and the header. */
export const product = 'Customer Platform';

/** Name of the gateway's environment; empty if it has none. */
export const environment = document.querySelector<HTMLMetaElement>('meta[name="environment"]')?.content.trim() ?? '';

/** Returns an environment's kind, which sets its color, from a word in its name such as `prod-eu` or `eu staging`. */
export function environmentKind(name: string): 'production' | 'staging' | 'other' {
  if (/\b(?:prod|live)/i.test(name)) return 'production';
  return /\b(?:stag|uat|pre)/i.test(name) ? 'staging' : 'other';
}

/** Version of the gateway that serves this page; undefined until it responds. */
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
