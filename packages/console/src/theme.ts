import { useState } from 'react';

/** The page's colors: the system's, or always light or dark. */
export type Theme = 'system' | 'light' | 'dark';

const storageKey = 'console.theme';
const themes: readonly Theme[] = ['system', 'light', 'dark'];

function storedTheme(): Theme {
  const stored = localStorage.getItem(storageKey);
  return themes.find((theme) => theme === stored) ?? 'system';
}

/** Sets the theme on the document, for the CSS. */
export function applyTheme(theme: Theme = storedTheme()): void {
  document.documentElement.dataset.theme = theme;
}

/** Returns the theme, and a function that switches to the next one. */
export function useTheme(): [Theme, () => void] {
  const [theme, setTheme] = useState(storedTheme);
  const next = themes[(themes.indexOf(theme) + 1) % themes.length]!;
  return [
    theme,
    () => {
      localStorage.setItem(storageKey, next);
      applyTheme(next);
      setTheme(next);
    },
  ];
}
