import type { Change, CloseReason, ObserverContext, Resynchronization } from '@tidemark/contracts'
import type { PortableChanges } from '@tidemark/contracts/internal'
import type { AbortCell } from './abort-cell.ts'
import type { ProgressCell } from './call-progress.ts'
import type { PortableThrown } from './portable-error.ts'

/** An observer's context without what has to call back. */
export type PortableContext = Omit<ObserverContext, 'signal' | 'accepted' | 'checkpoint'>

export type ObserverAct =
  | { readonly kind: 'open' }
  | {
      readonly kind: 'processChanges'
      readonly changes: readonly Change[] | PortableChanges
      readonly progress: ProgressCell
    }
  | { readonly kind: 'resynchronize'; readonly resync: Resynchronization }
  | { readonly kind: 'close'; readonly reason: CloseReason }

/** One call of one observer. */
export interface CallMessage {
  readonly kind: 'call'
  /** Of this thread. Also names the call's context. */
  readonly call: number
  readonly observer: number
  readonly act: ObserverAct
  readonly context: PortableContext
  /** Of `open`: the lease's. Of the others only where their signal is another one. */
  readonly abortCell: AbortCell | undefined
}

/** From the host. */
export type ToThread =
  | CallMessage
  /** Without `call`: of the lease. The cell was set before. */
  | {
      readonly kind: 'abort'
      readonly observer: number
      readonly call: number | undefined
      readonly reason: PortableThrown
    }
  | {
      readonly kind: 'checkpointed'
      readonly checkpoint: number
      readonly error: PortableThrown | undefined
    }
  /** Nothing is called any more. */
  | { readonly kind: 'end' }

/** From a thread. */
export type FromThread =
  | { readonly kind: 'ready' }
  /** The module is of no use; the thread ends. */
  | {
      readonly kind: 'unusable'
      readonly found: string
      readonly error: PortableThrown | undefined
    }
  /** A close has begun: the thread is not blocked. */
  | { readonly kind: 'closing'; readonly call: number }
  | { readonly kind: 'settled'; readonly call: number; readonly error: PortableThrown | undefined }
  /** The observer has accepted some of the changes of this call: look at its progress. */
  | { readonly kind: 'accepted'; readonly call: number }
  /** The observer asks to store the position of the call with this number. */
  | { readonly kind: 'checkpoint'; readonly call: number; readonly checkpoint: number }
  /** The observer has let go of this call's context. */
  | { readonly kind: 'forget'; readonly call: number }

/** What a thread is started with. */
export interface ThreadSettings {
  readonly href: string
  readonly data: unknown
}

/** How a thread ended. */
export interface ThreadExit {
  readonly exitCode: number
  /** That nobody caught. */
  readonly error: unknown
}

/** A thread as the host sees it. */
export interface ThreadHandle {
  /** @throws DataCloneError of a change that cannot be cloned; then nothing was sent. */
  post(message: ToThread): void
  /** Ends it, whatever it is doing. */
  terminate(): void
}

export interface ThreadListener {
  readonly onMessage: (message: FromThread) => void
  /** Once; after all messages. */
  readonly onExit: (exit: ThreadExit) => void
}

export type StartThread = (listener: ThreadListener) => ThreadHandle

export function portableContext(context: ObserverContext): PortableContext {
  const { hostName, group, leaseId, range, fence, attempt, redriven, continuation } = context
  const { minInclusive, maxExclusive } = range
  const { generation, epoch, lsn } = fence
  return {
    hostName,
    group,
    leaseId,
    range: { minInclusive, maxExclusive },
    fence: { generation, epoch, lsn },
    attempt,
    redriven,
    continuation,
  }
}
