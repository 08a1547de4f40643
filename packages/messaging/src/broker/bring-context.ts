import type {
  CommandAnswers,
  CommandOf,
  EntityRecord,
  MessageCommand,
  MessageTime,
} from '@tidemark/store/messages'
import type { FanOutContext } from './fan-out.ts'
import type { LookContext } from './look-at.ts'
import type { StuckDeadLetters, StuckLetters } from './stuck-letters.ts'
import type { SharedRuns } from './shared-runs.ts'

/** What bringing messages needs of the broker. */
export interface BringContext extends LookContext, FanOutContext {
  /** Of forwardings by their sources, and of activations by their topics. */
  readonly runs: SharedRuns
  /** By the number of the dead-letter queue. */
  readonly stuck: Map<number, StuckLetters>
  perform<Kind extends MessageCommand['kind']>(
    command: CommandOf<Kind>,
  ): Promise<{ readonly answer: CommandAnswers[Kind]; readonly time: MessageTime }>
  /** Something was put into this entity, and forwards from there. Nobody waits for it. */
  forwardOnward(record: EntityRecord): void
  /** Dead letters cannot be forwarded to where they should go. */
  reportStuck(event: StuckDeadLetters): void
  /** Something was put into the dead-letter queue of this entity, and forwards from there. */
  forwardDeadLettersOf(record: EntityRecord): void
}
