import type {
  CallerTime,
  CommandAnswers,
  CommandOf,
  EntityLook,
  MessageCatalog,
  MessageCommand,
  MessageEngine,
  MessageTime,
  SessionLook,
} from '@tidemark/store/messages'
import type { Connection } from '../connection/connection.ts'
import { EntityRows } from './entity-rows.ts'
import { lookAt, lookAtSessions } from './message-looks.ts'

/** What a command, or the messages of a commit, did for listeners. */
export interface MessageNews {
  /** Entities in which there may be something new for a listener. */
  readonly touched: readonly number[]
  /** The number of transactions so far, of every process, that changed something for listeners. */
  readonly news: number
}

/** What a command did. */
export interface PerformedCommand extends MessageNews {
  readonly answer: CommandAnswers[MessageCommand['kind']]
  readonly time: MessageTime
}

export interface SqliteMessagesOptions {
  perform(command: MessageCommand, caller: CallerTime): Promise<PerformedCommand>
  /** Runs `act` on one snapshot. Undefined while there are no tables of messages. */
  read<Result>(act: (connection: Connection) => Result): Promise<Result | undefined>
  watch: MessageEngine['watch']
  readonly nowMs: () => number
}

/** The messages of one database: commands go to its writer, looks to its reader. */
export class SqliteMessages implements MessageEngine {
  readonly #options: SqliteMessagesOptions

  constructor(options: SqliteMessagesOptions) {
    this.#options = options
  }

  async readCatalog(): Promise<MessageCatalog> {
    const entities = await this.#options.read((connection) => new EntityRows(connection).all())
    return { entities: entities ?? [] }
  }

  async perform<Kind extends MessageCommand['kind']>(
    command: CommandOf<Kind>,
    caller: CallerTime,
  ): Promise<{ readonly answer: CommandAnswers[Kind]; readonly time: MessageTime }> {
    const { answer, time } = await this.#options.perform(command, caller)
    return { answer: answer as CommandAnswers[Kind], time }
  }

  async look(entities: readonly number[]): Promise<readonly EntityLook[]> {
    const looks = await this.#options.read((connection) =>
      entities.flatMap((entity) => lookAt(connection, entity) ?? []),
    )
    return looks ?? []
  }

  async lookSessions(entity: number, sessions: readonly string[]): Promise<readonly SessionLook[]> {
    const looks = await this.#options.read((connection) =>
      lookAtSessions(connection, entity, sessions),
    )
    return looks ?? []
  }

  watch(listener: (entities: readonly number[] | undefined) => void): () => void {
    return this.#options.watch(listener)
  }

  nowMs(): number {
    return this.#options.nowMs()
  }
}
