import { signal, type Signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import type { Problem, ViewName, Views } from '../../../src/dashboard/views.ts'
import { browserMs, everySecond } from '../platform/browser.ts'
import { followStream } from './follow-stream.ts'
import { address, parsed } from './request.ts'
import { withUpdate, type AnyUpdate, type AnyView } from './view-state.ts'

/** How the page's view stands to the truth. */
export type Connection =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live' }
  | { readonly kind: 'stale'; readonly sinceMs: number; readonly problem: Problem }

export const connection: Signal<Connection> = signal({ kind: 'connecting' })

/** By how much the server's clock is ahead of the browser's. */
const aheadMs = signal(0)
/** The server's time, as a signal that changes every second. */
export const nowMs: Signal<number> = signal(browserMs())
everySecond(() => (nowMs.value = browserMs() + aheadMs.peek()))

export interface LiveView<View> {
  readonly view: View | undefined
  /** Why there is no view, or why the last look failed. */
  readonly problem: Problem | undefined
}

const NOTHING = { view: undefined, problem: undefined }

/** A view that is kept up to date while the component is there. */
export function useView<Name extends ViewName>(
  name: Name,
  query: Views[Name]['query'],
): LiveView<Views[Name]['view']> {
  const [state, setState] = useState<LiveView<AnyView>>(NOTHING)
  const url = address(`api/streams/${name}`, query)
  useEffect(() => {
    setState(NOTHING)
    connection.value = { kind: 'connecting' }
    const ended = new AbortController()
    void followView(url, setState, ended.signal)
    return () => ended.abort()
  }, [url])
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the stream of this name sends this view
  return state as LiveView<unknown> as LiveView<Views[Name]['view']>
}

type SetState = (next: (before: LiveView<AnyView>) => LiveView<AnyView>) => void

function followView(url: string, setState: SetState, signal: AbortSignal): Promise<void> {
  const stale = (problem: Problem): void => {
    const before = connection.peek()
    const sinceMs = before.kind === 'stale' ? before.sinceMs : browserMs()
    connection.value = { kind: 'stale', sinceMs, problem }
    setState(({ view }) => ({ view, problem }))
  }
  const take = (atMs: number, next: (before: LiveView<AnyView>) => AnyView | undefined): void => {
    aheadMs.value = atMs - browserMs()
    nowMs.value = atMs
    connection.value = { kind: 'live' }
    setState((before) => ({ view: next(before), problem: undefined }))
  }
  return followStream(
    url,
    {
      onOpen: () => {},
      onDown: stale,
      onEvent: ({ event, data }) => {
        if (event === 'view') {
          const view = parsed<AnyView>(data)
          take(view.atMs, () => view)
        } else if (event === 'update') {
          const update = parsed<AnyUpdate>(data)
          take(update.atMs, ({ view }) => view && withUpdate(view, update))
        } else if (event === 'problem') stale(parsed<Problem>(data))
      },
    },
    signal,
  )
}
