import { type ReactNode, useEffect, useId, useRef } from 'react';

/**
 * A modal dialog: the browser keeps the focus in it, Esc closes it, and the focus goes back to where it was. Without `close` nothing but what
 * is in it ends it.
 */
export function Dialog(props: {
  title: string;
  className?: string;
  close: (() => void) | undefined;
  children: ReactNode;
}) {
  const { title, className, close, children } = props;
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const before = document.activeElement;
    const dialog = element.current!;
    if (!dialog.open) dialog.showModal();
    return () => {
      dialog.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      className={className}
      aria-labelledby={titleId}
      // A second Esc closes a dialog even where `cancel` was prevented.
      closedby={close ? 'closerequest' : 'none'}
      onCancel={(event) => {
        event.preventDefault();
        close?.();
      }}
    >
      <h2 id={titleId}>{title}</h2>
      {children}
    </dialog>
  );
}
