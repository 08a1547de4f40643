import type { ManagementCall } from './management-call.ts'
import { useLink } from './use-link.ts'
import { timestamps } from './wire-values.ts'

/** Renews the locks that are still held. One that is lost makes an error of the answer. */
export async function renewLocks(call: ManagementCall): Promise<object> {
  const tokens = call.fields.lockTokens('lock-tokens')
  const ends = await useLink(call, 'peekLock', (link) => link.renew(tokens))
  const untilMs = ends.map((end) => {
    if (end instanceof Error) throw end
    return end.untilUtcMs
  })
  return { expirations: timestamps(untilMs) }
}
