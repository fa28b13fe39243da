import { replaceUnknownLanguage } from './browser-language.ts';
import { showFailure } from './failure.ts';
import './styles/base.css';
import './styles/frame.css';
import './styles/table.css';
import './styles/dialog.css';
import './styles/chart.css';
import './styles/trace.css';
import './styles/pages.css';

// The dynamic import runs after the fix of the language, which modules read while they load, and `catch` shows what they throw.
replaceUnknownLanguage(navigator);
import('./console.tsx')
  .then(({ showConsole }) => showConsole(document.getElementById('root')!, showFailure))
  .catch(showFailure);
