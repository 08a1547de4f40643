import type { Clock } from '@tidemark/contracts'
import type { GatewayKeys } from '@tidemark/gateway'
import { InputError } from '../input-error.ts'
import { errorLine } from '../output/report-error.ts'

/** How often the files are read. */
const INTERVAL_MS = 1000
/** A file that reads otherwise within this time is still being written. */
const SETTLED_MS = 3000

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
  let present = inForce
  let last = JSON.stringify(inForce)
  let changedMs = clock.monotonicMs()
  let trouble = ''
  for (;;) {
    await clock.sleep(INTERVAL_MS, signal)
    try {
      const keys = await read()
      const text = JSON.stringify(keys)
      const nowMs = clock.monotonicMs()
      if (text !== last) changedMs = nowMs
      last = text
      if (nowMs - changedMs < SETTLED_MS) continue
      if (text !== JSON.stringify(present)) {
        assertWhole(keys, present)
        replace(keys)
        present = keys
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

/** Rejects a part of a key that is in force: whoever writes the file has stopped in the middle, for want of space perhaps. */
function assertWhole(keys: GatewayKeys, present: GatewayKeys): void {
  const known = allKeys(present)
  const isPart = (key: string): boolean =>
    known.some((other) => other !== key && other.startsWith(key))
  if (allKeys(keys).some(isPart)) {
    throw new InputError('a file of keys ends in the middle of a key: write it whole')
  }
}

function allKeys({ readWrite, readOnly = [] }: GatewayKeys): readonly string[] {
  return [...readWrite, ...readOnly]
}

function described({ readWrite, readOnly = [] }: GatewayKeys): string {
  return `${readWrite.length} may do everything, ${readOnly.length} may only read`
}
