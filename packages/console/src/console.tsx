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
      // What the control plane refuses, it refuses again; the next poll tries anyway.
      retry: (failures, error) => failures < 1 && error instanceof Refusal && error.status === 0,
      refetchOnWindowFocus: true,
      staleTime: 1_000,
      // The console runs beside the platform: the browser's opinion on the network does not matter.
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
});

function Console() {
  const { token } = useSession();
  // Another token may see other things; nothing of the last one is left.
  useEffect(() => {
    if (token === null) queryClient.clear();
  }, [token]);
  return token === null ? <SignIn /> : <RouterProvider router={router} />;
}

/** Shows the console in an element. `onFailure` is told what nothing in it caught: then nothing of it is left. */
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
