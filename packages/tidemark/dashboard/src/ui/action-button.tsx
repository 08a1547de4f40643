import type { VNode } from 'preact'
import { useState } from 'preact/hooks'

export interface ActionButtonProps {
  readonly text: string
  /** Why it cannot be used now. */
  readonly refusal?: string | undefined
  readonly class?: string
  /** The dialog that it opens. It is about what was there at that moment, whatever changes behind it. */
  readonly dialog: (onClose: () => void) => VNode
}

export function ActionButton({ text, refusal, dialog, class: more }: ActionButtonProps): VNode {
  const [opened, setOpened] = useState<VNode | undefined>()
  const close = (): void => setOpened(undefined)
  return (
    <>
      <button
        type="button"
        class={more}
        disabled={refusal !== undefined}
        title={refusal}
        onClick={() => setOpened(dialog(close))}
      >
        {text}
      </button>
      {opened}
    </>
  )
}
