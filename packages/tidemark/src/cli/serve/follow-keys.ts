import type { Clock } from '@tidemark/contracts'
import type { GatewayKeys } from '@tidemark/gateway'
import { errorLine } from '../output/report-error.ts'

/** How often the files are read. */
const INTERVAL_MS = 1000

export interface FollowedKeys {
  readonly read: () => Promise<GatewayKeys>
  /** Throws when it refuses the keys; the old ones stay in force. */
  readonly replace: (keys: GatewayKeys) => void
  /** Reports one line for people, without keys. */
  readonly tell: (line: string) => void
  readonly clock: Clock
}

/**
 * Reads the key files periodically and puts changes into force, so that keys are rotated without a restart. Keys that
 * cannot be read, or are refused, change nothing and are reported once. Files are read, not watched: that also works
 * with Kubernetes secrets, and with editors that replace the file.
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
      // A file that is still being written has another content a moment later.
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
      const line = `${errorLine(error)}; the present keys stay in force`
      if (line !== trouble) tell(line)
      trouble = line
    }
  }
}

function described({ readWrite, readOnly = [] }: GatewayKeys): string {
  return `${readWrite.length} allow everything, ${readOnly.length} only allow reads`
}
