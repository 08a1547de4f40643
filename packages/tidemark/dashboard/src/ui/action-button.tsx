import type { ComponentChildren, VNode } from 'preact'
import { useState } from 'preact/hooks'

export interface ActionButtonProps {
  readonly text: string
  /** Why it cannot be used now. */
  readonly refusal?: string | undefined
  readonly class?: string
  /** The dialog that it opens. */
  readonly dialog: (onClose: () => void) => ComponentChildren
}

export function ActionButton({ text, refusal, dialog, class: more }: ActionButtonProps): VNode {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <>
      <button
        type="button"
        class={more}
        disabled={refusal !== undefined}
        title={refusal}
        onClick={() => setIsOpen(true)}
      >
        {text}
      </button>
      {isOpen && dialog(() => setIsOpen(false))}
    </>
  )
}
