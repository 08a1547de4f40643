import { effect, signal, type Signal } from '@preact/signals'
import type { PageInfo } from '../../src/dashboard/views.ts'
import { read } from './live/request.ts'
import { connection } from './live/use-view.ts'

/** Undefined until the server has answered. */
export const info: Signal<PageInfo | undefined> = signal(undefined)

/** Asked again whenever the connection is back: another server may have taken the place of the first. */
effect(() => {
  if (connection.value.kind !== 'live') return
  read('info', {}).then(
    (answer) => (info.value = answer),
    () => {},
  )
})
