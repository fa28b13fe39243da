import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode, useEffect } from 'react';
import { createRoot } from 'react-dom/client';
import { Refusal } from './api.ts';
import { router } from './router.tsx';
import { useSession } from './session.ts';
import { SignIn } from './sign-in.tsx';
import { applyTheme } from './theme.ts';

const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // Retry only without a response: an error response would repeat, and the next poll tries again anyway.
      retry: (failures, error) => failures < 1 && error instanceof Refusal && error.status === 0,
      refetchOnWindowFocus: true,
      staleTime: 1_000,
      // The console may run on the platform's own machine, so ignore the browser's online status.
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
});

function Console() {
  const { token } = useSession();
  // Clear the cache, since another token may have other permissions.
  useEffect(() => {
    if (token === null) queryClient.clear();
  }, [token]);
  return token === null ? <SignIn /> : <RouterProvider router={router} />;
}

/** Renders the console into an element. Calls `onFailure` with an uncaught error, after which React has removed everything. */
export function showConsole(element: Element, onFailure: (error: unknown) => void): void {
  applyTheme();
  createRoot(element, { onUncaughtError: onFailure }).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <Console />
      </QueryClientProvider>
    </StrictMode>,
  );
}
