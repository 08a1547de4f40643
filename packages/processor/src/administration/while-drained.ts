import type { Clock, LeaseGroup } from '@tidemark/contracts'
import { DrainWatch } from './drain-watch.ts'

export interface WaitUntilDrainedOptions {
  /** How long it waits; then it resolves to false. @range any number, 0 or more @default no limit */
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

export interface MoveOptions {
  /**
   * How long the hosts may take, while the group is paused for it, to finish what they have in hand. After that
   * their leases are taken from them: what they still do then is refused, and may run beside what comes next.
   * 0 = at once.
   * @range any number, 0 or more @default 60_000 (a host aborts a batch that keeps a lease from being given back after
   * 30 s)
   */
  readonly drainTimeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

const DRAIN_POLL_MS = 200
const DRAIN_TIMEOUT_MS = 60_000
/** Of the resumption, which nobody else would do. About 15 s, beside what the calls themselves take. */
const RESUME = { attempts: 24, pauseMs: 50 }

/**
 * See `ProcessorGroup.waitUntilDrained`. `whenResumed` is called when somebody has resumed the group meanwhile, and
 * is to pause it again.
 */
export async function waitUntilDrained(
  group: LeaseGroup,
  clock: Clock,
  { timeoutMs = Infinity, signal = new AbortController().signal }: WaitUntilDrainedOptions,
  whenResumed?: () => Promise<void>,
): Promise<boolean> {
  const watch = new DrainWatch()
  const endMs = clock.monotonicMs() + timeoutMs
  for (;;) {
    const nowMs = clock.monotonicMs()
    const snapshot = await group.read(signal)
    const isResumed = !snapshot.paused && whenResumed !== undefined
    if (isResumed) await whenResumed()
    else if (watch.workingHosts(snapshot, nowMs).length === 0) return true
    const leftMs = endMs - nowMs
    if (leftMs <= 0) return false
    await clock.sleep(Math.min(DRAIN_POLL_MS, leftMs), signal)
  }
}

/**
 * Pauses the group for what is done, unless it is paused already, and resumes it whatever happens. Who resumes it
 * while its hosts are still waited for has to wait for that, too.
 */
export async function whileDrained<Result>(
  { group, clock }: { readonly group: LeaseGroup; readonly clock: Clock },
  { drainTimeoutMs = DRAIN_TIMEOUT_MS, signal }: MoveOptions,
  act: () => Promise<Result>,
): Promise<Result> {
  if (!(drainTimeoutMs > 0)) return act()
  let isOwnPause = false
  const pause = async (): Promise<void> => {
    // Also when no answer comes: whoever saw the group run is the one to let it go on.
    isOwnPause = true
    await group.setPaused(true, signal)
  }
  const { paused } = await group.read(signal)
  try {
    if (!paused) await pause()
    await waitUntilDrained(group, clock, { timeoutMs: drainTimeoutMs, signal }, pause)
    return await act()
  } finally {
    if (isOwnPause) await resumeAfterwards(group, clock)
  }
}

/** Also after an abort. Rejects with the lease store's last error. */
async function resumeAfterwards(group: LeaseGroup, clock: Clock): Promise<void> {
  const { signal } = new AbortController()
  for (let attempt = 1; ; attempt += 1) {
    try {
      await group.setPaused(false)
      return
    } catch (error) {
      if (attempt >= RESUME.attempts) throw error
      await clock.sleep(RESUME.pauseMs * attempt, signal)
    }
  }
}
