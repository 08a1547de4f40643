import rhea from 'rhea'
import { expect, test } from 'vitest'
import type { RheaSender } from '../rhea/rhea-internals.ts'
import type { LinkHost } from './client-link.ts'
import { openReceiving } from './open-receiving.ts'

/** With the filter that asks for the next session. */
const sourceFields = Array.from({ length: 7 }, () => rhea.types.wrap(null)).concat(
  rhea.types.wrap({ 'com.microsoft:session-filter': null }),
)

test.each([
  [0, 0],
  [5000, 5000],
  [1e12, 86_400_000],
  // A client that does not say it, or nothing that makes sense.
  [undefined, 60_000],
  [-1, 60_000],
  ['7', 60_000],
])('SES-12 a client that says %j waits for the next session for %d ms', async (said, waits) => {
  const sender = {
    source: { value: sourceFields },
    properties: { 'com.microsoft:timeout': said },
  } as unknown as RheaSender
  const host = {
    claims: { assert: () => undefined },
    front: {
      entity: async () => ({ kind: 'queue', path: 'q', settings: {} }),
      acceptSession: (_: string, { maxWaitMs }: { readonly maxWaitMs: number }) =>
        Promise.reject(new Error(`waits ${maxWaitMs}`)),
    },
  } as unknown as LinkHost
  const { signal } = new AbortController()
  await expect(openReceiving(sender, { host, path: 'q', signal })).rejects.toThrow(`waits ${waits}`)
})
