import assert from 'node:assert/strict'
import type { Clock } from '@tidemark/contracts'
import type { HttpFetch } from '@tidemark/gateway/client'

/**
 * What makes our gateway a server that knows nothing of us: no header of ours reaches it, or comes back from it.
 *
 * The date of its answers is `clock`'s. HTTP has whole seconds only; here the ms are said too, so that suites which
 * step a clock by less see what they expect.
 */
export function plainServerFetch(clock: Pick<Clock, 'wallMs'> = { wallMs: Date.now }): HttpFetch {
  return async (url, request) => {
    const own = Object.keys(request.headers).filter((name) => name.startsWith('x-tidemark-'))
    assert.deepEqual(own, [], 'the client asked a server that is not ours for something of our own')
    const { status, headers, text } = await fetch(url, request).then(async (response) => ({
      status: response.status,
      headers: new Headers(response.headers),
      text: await response.text(),
    }))
    const ours = Array.from(headers.keys()).filter((name) => name.startsWith('x-tidemark-'))
    for (const name of ours) headers.delete(name)
    const nowMs = clock.wallMs()
    const ms = String(nowMs % 1000).padStart(3, '0')
    headers.set('date', new Date(nowMs).toUTCString().replace(' GMT', `.${ms} GMT`))
    return { status, headers, text: () => Promise.resolve(text) }
  }
}
