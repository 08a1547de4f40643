import type { NotSent } from './commit-sends.ts'
import type { CommandOf } from './message-commands.ts'
import type { MessageEngine } from './message-engine.ts'
import type { CallerTime, MessageTime } from './message-time.ts'

/**
 * Messages that go with a commit of documents: delivered if and only if it commits. `MessageSender.outgoing` makes them;
 * what is here is for the store. They may go with any number of commits, each time anew.
 */
export interface OutgoingMessages {
  readonly count: number
  readonly bytes: number
  /**
   * Calls `act`, and keeps the broker open meanwhile. Rejects with ERR_LINK_CLOSED, and with ERR_INVALID_OPTION when the
   * broker has another engine.
   */
  whileOpen<Result>(engine: MessageEngine, act: () => Promise<Result>): Promise<Result>
  /** Judged by the entity as the broker knows it. Rejects with the errors of `sendMessages`. */
  prepare(): Promise<PreparedSend>
  callerTime(): CallerTime
}

/** Messages of one entity, for one attempt to commit. */
export interface PreparedSend {
  readonly command: CommandOf<'send'>
  /** They were sent. */
  sent(time: MessageTime): void
  /**
   * Nothing was committed, because of these messages. Resolves when they are worth preparing again, else rejects with the
   * error that says why they cannot be sent. `attempt` counts from 1.
   */
  refused(answer: NotSent['answer'], attempt: number): Promise<void>
}
