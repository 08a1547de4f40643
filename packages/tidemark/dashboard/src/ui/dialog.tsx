import type { ComponentChildren, VNode } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'

export interface DialogProps {
  readonly title: string
  readonly isWide?: boolean
  readonly onClose: () => void
  readonly children: ComponentChildren
  readonly foot: ComponentChildren
}

/** Modal while it is there. Escape closes it, and focus goes back to where it was. */
export function Dialog({ title, isWide, onClose, children, foot }: DialogProps): VNode {
  const box = useRef<HTMLDialogElement>(null)
  const id = useId()
  useLayoutEffect(() => {
    const before = document.activeElement
    box.current?.showModal()
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return (
    <dialog ref={box} class={isWide ? 'wide' : ''} aria-labelledby={id} onClose={onClose}>
      <div class="inside">
        <h2 id={id}>{title}</h2>
        {children}
        <div class="foot">{foot}</div>
      </div>
    </dialog>
  )
}
