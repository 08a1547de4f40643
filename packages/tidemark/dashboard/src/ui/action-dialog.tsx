import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { ActionAnswer, ActionName, Actions, Problem } from '../../../src/dashboard/views.ts'
import { info } from '../info.ts'
import { act, problemOf } from '../live/request.ts'
import { announce } from './announcements.tsx'
import { Dialog } from './dialog.tsx'
import { Effect } from './effect.tsx'
import { Notice, ProblemNotice } from './parts.tsx'

export interface ActionDialogProps<Name extends ActionName> {
  readonly action: Name
  readonly title: string
  /** On the button that does it. */
  readonly verb: string
  readonly isDangerous?: boolean
  /** Undefined: what was put in is not complete. */
  readonly body: Actions[Name] | undefined
  /** What can be chosen; the effect is asked for again when the body changes. */
  readonly children?: ComponentChildren
  readonly onClose: () => void
  readonly onDone?: () => void
}

type Shown =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'asking' }
  | { readonly kind: 'known'; readonly answer: ActionAnswer }
  | { readonly kind: 'refused'; readonly problem: Problem }

/** Shows what an action would do before it is done. */
export function ActionDialog<Name extends ActionName>(props: ActionDialogProps<Name>): VNode {
  const { action, title, verb, isDangerous, body, children, onClose } = props
  const shown = useEffectOf(action, body)
  const [doing, setDoing] = useState<'idle' | 'busy' | Problem | ActionAnswer>('idle')
  const isReadOnly = info.value?.readOnly === true
  const isDone = typeof doing === 'object' && 'done' in doing
  const confirm = async (): Promise<void> => {
    if (body === undefined) return
    setDoing('busy')
    try {
      const answer = await act(action, body)
      announce(answer.text)
      setDoing(answer)
      props.onDone?.()
    } catch (error) {
      setDoing(problemOf(error))
    }
  }
  const isReady = shown.kind === 'known' && !isReadOnly && doing !== 'busy'
  return (
    <Dialog
      title={title}
      onClose={onClose}
      foot={
        isDone ? (
          <CloseButton text="Close" onClose={onClose} />
        ) : (
          <>
            <CloseButton text="Cancel" onClose={onClose} />
            <button
              type="button"
              class={isDangerous ? 'danger' : 'main'}
              disabled={!isReady}
              onClick={() => void confirm()}
            >
              {verb}
            </button>
          </>
        )
      }
    >
      {isReadOnly && (
        <Notice tone="warn">
          This page is read-only: it shows what would be done, and does nothing.
        </Notice>
      )}
      {!isDone && children}
      <div class="effect" aria-live="polite" aria-busy={shown.kind === 'asking'}>
        {isDone ? <Effect answer={doing} /> : <Preview shown={shown} />}
      </div>
      {typeof doing === 'object' && 'code' in doing && <ProblemNotice problem={doing} />}
    </Dialog>
  )
}

/** Has the focus first: Enter does nothing that was not read. */
function CloseButton({ text, onClose }: { text: string; onClose: () => void }): VNode {
  const button = useRef<HTMLButtonElement>(null)
  useEffect(() => button.current?.focus(), [text])
  return (
    <button type="button" ref={button} onClick={onClose}>
      {text}
    </button>
  )
}

function Preview({ shown }: { readonly shown: Shown }): VNode {
  switch (shown.kind) {
    case 'nothing':
      return <p class="muted">Fill in the fields to see what this will do.</p>
    case 'asking':
      return <p class="muted">Asking what this will do …</p>
    case 'known':
      return <Effect answer={shown.answer} />
    case 'refused':
      return <ProblemNotice problem={shown.problem} />
  }
}

function useEffectOf<Name extends ActionName>(
  action: Name,
  body: Actions[Name] | undefined,
): Shown {
  const text = body === undefined ? undefined : JSON.stringify(body)
  const [shown, setShown] = useState<{ readonly of: string | undefined; readonly shown: Shown }>()
  useEffect(() => {
    if (body === undefined) return undefined
    let isCurrent = true
    const settle = (next: Shown): void => {
      if (isCurrent) setShown({ of: text, shown: next })
    }
    act(action, { ...body, dryRun: true }).then(
      (answer) => settle({ kind: 'known', answer }),
      (error: unknown) => settle({ kind: 'refused', problem: problemOf(error) }),
    )
    return () => {
      isCurrent = false
    }
  }, [text])
  if (text === undefined) return { kind: 'nothing' }
  // An effect counts only for the very body that it was asked for.
  return shown?.of === text ? shown.shown : { kind: 'asking' }
}
