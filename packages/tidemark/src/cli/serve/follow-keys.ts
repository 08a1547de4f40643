import { errorCode, type Clock, type Logger } from '@tidemark/contracts'
import { describeError } from '@tidemark/contracts/internal'
import { InputError } from '../input-error.ts'
import type { ServedKeys } from './served-keys.ts'

/** How often the files are read. */
const INTERVAL_MS = 1000
/** A file that reads otherwise within this time is still being written. */
const SETTLED_MS = 3000

export interface FollowedKeys {
  readonly read: () => Promise<ServedKeys>
  /** Throws when it refuses the keys; the old ones stay in force. */
  readonly replace: (keys: ServedKeys) => void
  /** Gets no keys. */
  readonly logger: Logger
  readonly clock: Clock
}

/**
 * Reads the key files periodically and puts changes into force, so that keys are rotated without a restart. Keys that
 * cannot be read, or are refused, change nothing and are reported once. Files are read, not watched: that also works
 * with Kubernetes secrets, and with editors that replace the file.
 *
 * Rejects with the signal's reason.
 *
 * @param inForce the keys that the fronts began with
 */
export async function followKeys(
  { read, replace, logger, clock }: FollowedKeys,
  inForce: ServedKeys,
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
      // A file that is still being written has another content a moment later.
      const nowMs = clock.monotonicMs()
      if (text !== last) changedMs = nowMs
      last = text
      if (nowMs - changedMs < SETTLED_MS) continue
      if (text !== JSON.stringify(present)) {
        assertWhole(keys, present)
        replace(keys)
        present = keys
        logger.info(
          { event: 'keysReplaced' },
          `the keys in force were replaced: ${described(keys)}`,
        )
      }
      trouble = ''
    } catch (error) {
      const line = `${describeError(error)}; the present keys stay in force`
      if (line !== trouble) logger.warn({ event: 'keysRefused', code: errorCode(error) }, line)
      trouble = line
    }
  }
}

/** Rejects the beginning of a key that is in force: the write of the file stopped in the middle. */
function assertWhole(keys: ServedKeys, present: ServedKeys): void {
  const known = allKeys(present)
  const isPart = (key: string): boolean =>
    !known.includes(key) && known.some((other) => other.startsWith(key))
  if (allKeys(keys).some(isPart)) {
    throw new InputError('a file of keys ends in the middle of a key: write it whole')
  }
}

function allKeys({ readWrite, readOnly = [], policies = [] }: ServedKeys): readonly string[] {
  return [...readWrite, ...readOnly, ...policies.flatMap(({ keys }) => keys)]
}

function described({ readWrite, readOnly = [], policies = [] }: ServedKeys): string {
  const gateway = `${readWrite.length} allow everything, ${readOnly.length} only allow reads`
  return policies.length === 0 ? gateway : `${gateway}, ${policies.length} access policies`
}
