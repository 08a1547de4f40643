import { InvalidOptionError } from '@tidemark/contracts'
import type {
  CallerTime,
  MessageEngine,
  NewMessage,
  OutgoingMessages,
  PreparedSend,
} from '@tidemark/store/messages'
import type { BrokerContext } from './broker-context.ts'
import type { EntityCommands } from './entity-commands.ts'
import { assertSize, sendRefusal } from './send-refusals.ts'

export interface SenderOutboxParts {
  readonly context: BrokerContext
  readonly commands: EntityCommands
  readonly messages: readonly NewMessage[]
  /** @throws ERR_LINK_CLOSED */
  readonly assertOpen: () => void
}

/** Messages of one sender that go with a commit. */
export class SenderOutbox implements OutgoingMessages {
  readonly count: number
  readonly bytes: number
  readonly #parts: SenderOutboxParts

  constructor(parts: SenderOutboxParts) {
    this.#parts = parts
    this.count = parts.messages.length
    this.bytes = parts.messages.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  async whileOpen<Result>(engine: MessageEngine, act: () => Promise<Result>): Promise<Result> {
    const { context, commands, assertOpen } = this.#parts
    assertOpen()
    return context.whileOpen(async () => {
      if (await context.database.hasMessages(engine)) return act()
      throw new InvalidOptionError(
        `messages to '${commands.path}' go with commits of the database and the store of their broker`,
      )
    })
  }

  callerTime(): CallerTime {
    return this.#parts.context.callerTime()
  }

  async prepare(): Promise<PreparedSend> {
    const { context, commands, messages } = this.#parts
    const prepared = await commands.prepareSend(messages)
    const { record, command } = prepared
    assertSize(record, messages)
    return {
      command,
      sent: (time) => {
        context.hear(time)
        commands.carriedOut(prepared)
      },
      refused: async (answer, attempt) => {
        // An activity, successful or not (TMP-10), and what the command stamped was undone.
        if (command.touch) await commands.perform('touch', {})
        if (answer.kind !== 'again' && answer.kind !== 'refused') throw sendRefusal(record, answer)
        await commands.prepareAgain(answer, prepared, attempt)
      },
    }
  }
}
