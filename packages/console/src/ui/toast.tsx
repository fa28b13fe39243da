import { createContext, type ReactNode, useCallback, useContext, useEffect, useRef, useState } from 'react';

/** Milliseconds that a toast is shown. */
const shownMs = 8_000;

interface Toast {
  id: number;
  text: ReactNode;
}

const ToastContext = createContext<(text: ReactNode) => void>(() => undefined);

/** Returns a function that shows a message in a corner of the page and announces it to screen readers. */
export function useToast(): (text: ReactNode) => void {
  return useContext(ToastContext);
}

/** Shows toasts over its children. */
export function ToastProvider({ children }: { children: ReactNode }) {
  const [toasts, setToasts] = useState<Toast[]>([]);
  const nextId = useRef(0);
  const show = useCallback((text: ReactNode) => {
    const id = nextId.current++;
    setToasts((shown) => [...shown, { id, text }]);
  }, []);
  const close = useCallback((id: number) => setToasts((shown) => shown.filter((each) => each.id !== id)), []);
  return (
    <ToastContext value={show}>
      {children}
      <div className="toasts" role="status">
        {toasts.map(({ id, text }) => (
          <ShownToast key={id} id={id} closeToast={close}>
            {text}
          </ShownToast>
        ))}
      </div>
    </ToastContext>
  );
}

function ShownToast({
  id,
  closeToast,
  children,
}: {
  id: number;
  closeToast: (id: number) => void;
  children: ReactNode;
}) {
  const close = useCallback(() => closeToast(id), [id, closeToast]);
  useEffect(() => {
    const timer = setTimeout(close, shownMs);
    return () => clearTimeout(timer);
  }, [close]);
  return (
    <div className="toast">
      <div>{children}</div>
      <button type="button" className="link" onClick={close}>
        Dismiss
      </button>
    </div>
  );
}
