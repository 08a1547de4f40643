import type { Clock } from '@tidemark/contracts'
import type { GatewayKeys } from '@tidemark/gateway'
import { errorLine } from '../output/report-error.ts'

/** How often the files are read. */
const INTERVAL_MS = 1000

export interface FollowedKeys {
  readonly read: () => Promise<GatewayKeys>
  /** Throws when it refuses them; the old ones stay in force. */
  readonly replace: (keys: GatewayKeys) => void
  /** For people: one line, without keys. */
  readonly tell: (line: string) => void
  readonly clock: Clock
}

/**
 * Reads the files of keys again and again, and puts what has changed into force, so that keys are rotated without a restart. What
 * cannot be read, or is refused, changes nothing and is told once. Files are read, not watched: that also sees what Kubernetes does
 * with its secrets, and what an editor that writes another file in its place does.
 *
 * Rejects with the signal's reason.
 *
 * @param inForce the keys that the gateway began with
 */
export async function followKeys(
  { read, replace, tell, clock }: FollowedKeys,
  inForce: GatewayKeys,
  signal: AbortSignal,
): Promise<never> {
  let present = JSON.stringify(inForce)
  let last = present
  let trouble = ''
  for (;;) {
    await clock.sleep(INTERVAL_MS, signal)
    try {
      const keys = await read()
      const text = JSON.stringify(keys)
      // A file that is still being written reads otherwise a moment later.
      const isSettled = text === last
      last = text
      if (!isSettled) continue
      if (text !== present) {
        replace(keys)
        present = text
        tell(`tidemark: the keys in force were replaced: ${described(keys)}`)
      }
      trouble = ''
    } catch (error) {
      const line = `${errorLine(error)}; the keys that are in force stay`
      if (line !== trouble) tell(line)
      trouble = line
    }
  }
}

function described({ readWrite, readOnly = [] }: GatewayKeys): string {
  return `${readWrite.length} may do everything, ${readOnly.length} may only read`
}
