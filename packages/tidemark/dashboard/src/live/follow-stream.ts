import type { Problem } from '../../../src/dashboard/views.ts'
import { pause, Watchdog } from '../platform/browser.ts'
import { readEvents, type ServerEvent } from './read-events.ts'
import { checked, problemOf } from './request.ts'

export interface StreamHandlers {
  readonly onEvent: (event: ServerEvent) => void
  /** The connection is there. */
  readonly onOpen: () => void
  /** It is not, or no longer; it is tried again until the signal aborts. */
  readonly onDown: (problem: Problem) => void
}

/** The server sends a comment every 15 s. */
const SILENCE_LIMIT_MS = 40_000
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 15_000
/** A page that nobody sees costs its server nothing after this. */
const HIDDEN_LIMIT_MS = 60_000

/** Keeps a stream of events open until `signal` aborts. */
export async function followStream(
  url: string,
  handlers: StreamHandlers,
  signal: AbortSignal,
): Promise<void> {
  let failures = 0
  while (!signal.aborted) {
    try {
      await readStream(url, signal, {
        ...handlers,
        onOpen: () => {
          failures = 0
          handlers.onOpen()
        },
      })
      if (signal.aborted) return
      handlers.onDown({ code: 'ERR_ENDED', message: 'The server ended the connection.' })
    } catch (error) {
      if (signal.aborted) return
      handlers.onDown(problemOf(error))
    }
    await pauseBeforeRetry(failures, signal)
    failures += 1
  }
}

async function readStream(
  url: string,
  signal: AbortSignal,
  { onEvent, onOpen }: StreamHandlers,
): Promise<void> {
  const ended = new AbortController()
  const end = (): void => ended.abort()
  using silence = new Watchdog(SILENCE_LIMIT_MS, end)
  using _hidden = whileHidden(end)
  const response = await checked(
    await fetch(url, {
      headers: { accept: 'text/event-stream' },
      signal: AbortSignal.any([signal, ended.signal]),
    }),
  )
  onOpen()
  if (response.body === null) return
  for await (const event of readEvents(response.body, () => silence.touch())) onEvent(event)
}

/** Calls `end` when the page has been hidden for a while. */
function whileHidden(end: () => void): Disposable {
  let watchdog: Watchdog | undefined
  const look = (): void => {
    watchdog?.[Symbol.dispose]()
    watchdog = document.hidden ? new Watchdog(HIDDEN_LIMIT_MS, end) : undefined
  }
  look()
  document.addEventListener('visibilitychange', look)
  return {
    [Symbol.dispose]() {
      document.removeEventListener('visibilitychange', look)
      watchdog?.[Symbol.dispose]()
    },
  }
}

/** Not longer than until the page is seen again, or the network is back. */
async function pauseBeforeRetry(failures: number, signal: AbortSignal): Promise<void> {
  const awake = new AbortController()
  const wake = (): void => {
    if (!document.hidden) awake.abort()
  }
  addEventListener('online', wake)
  document.addEventListener('visibilitychange', wake)
  try {
    const either = AbortSignal.any([signal, awake.signal])
    await pause(Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS), either)
    while (document.hidden && !either.aborted) await pause(LONGEST_PAUSE_MS, either)
  } finally {
    removeEventListener('online', wake)
    document.removeEventListener('visibilitychange', wake)
  }
}
