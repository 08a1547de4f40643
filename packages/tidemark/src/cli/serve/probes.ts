import { errorCode, type Clock } from '@tidemark/contracts'
import type { Store } from '@tidemark/store'
import { jsonAnswer, problemAnswer } from '../../dashboard/problem-answer.ts'
import type { Beside } from './beside.ts'
import { sharedCall } from './shared-call.ts'

/** However many probes ask: a public page must not become load of the store. */
const CHECK_EVERY_MS = 1_000
/** What takes longer is not reachable. */
const CHECK_LIMIT_MS = 2_000

/**
 * `/livez`: the process answers. `/readyz`: its store answers, too, and it does not end; else 503. Open to everybody,
 * and without a name: which server this is, and what it holds, is nobody's business.
 */
export function probes({
  store,
  draining,
  clock,
}: {
  readonly store: Pick<Store, 'listDatabases'>
  /** Aborted: the server finishes what it serves, and ends. */
  readonly draining: AbortSignal
  readonly clock: Clock
}): Beside {
  const check = sharedCall(() => store.listDatabases(), { clock, freshMs: CHECK_EVERY_MS })
  return async ({ url, method }) => {
    const { pathname } = new URL(url)
    if (pathname !== '/livez' && pathname !== '/readyz') return undefined
    if (method !== 'GET' && method !== 'HEAD') {
      const message = 'A probe is asked by GET or HEAD.'
      return problemAnswer(405, { code: 'ERR_METHOD_NOT_ALLOWED', message }, { allow: 'GET, HEAD' })
    }
    if (pathname === '/livez') return jsonAnswer({ status: 'alive' })
    const failure = await failureOf(check(), clock)
    const isReady = failure === undefined && !draining.aborted
    return jsonAnswer(
      {
        status: isReady ? 'ready' : 'notReady',
        draining: draining.aborted,
        store: failure === undefined ? 'reachable' : 'unreachable',
        ...(failure !== undefined && { code: failure }),
      },
      { status: isReady ? 200 : 503 },
    )
  }
}

/** The code of why the call failed, or takes too long; undefined: it has not. */
async function failureOf(call: Promise<unknown>, clock: Clock): Promise<string | undefined> {
  const over = new AbortController()
  const late = clock.sleep(CHECK_LIMIT_MS, over.signal).then(
    () => 'ERR_STORE_UNAVAILABLE',
    () => undefined,
  )
  const outcome = call.then(
    () => undefined,
    (error: unknown) => errorCode(error) ?? 'ERR_FAILED',
  )
  try {
    return await Promise.race([outcome, late])
  } finally {
    over.abort()
  }
}
