import type { CommandAnswers, CommandOf, MessageCommand } from './message-commands.ts'
import type { MessageCatalog } from './entities.ts'
import type { EntityLook, SessionLook } from './message-rows.ts'
import type { CallerTime, MessageTime } from './message-time.ts'

/**
 * The messages of one database: tables of their own, beside those of documents, in the same file or schema. Any number
 * of processes uses them at once.
 *
 * Every method rejects with a `CodedError`: ERR_STORE_CLOSED, ERR_STORE_UNAVAILABLE, ERR_STORE_DAMAGED, ERR_NOT_FOUND when
 * the database is gone.
 */
export interface MessageEngine {
  readCatalog(): Promise<MessageCatalog>
  /**
   * Carries out a command as one transaction. Resolves when it is durable. A command that was refused or did not find
   * something is an answer, not a rejection. After ERR_STORE_UNAVAILABLE it may have happened or not.
   */
  perform<Kind extends MessageCommand['kind']>(
    command: CommandOf<Kind>,
    time: CallerTime,
  ): Promise<{ readonly answer: CommandAnswers[Kind]; readonly time: MessageTime }>
  /** Reads only, and cheaply: nothing is applied. Entities that are gone are left out. */
  look(entities: readonly number[]): Promise<readonly EntityLook[]>
  /** As `look`, of sessions that this broker holds: their messages matter to nobody else. */
  lookSessions(entity: number, sessions: readonly string[]): Promise<readonly SessionLook[]>
  /**
   * Calls `listener` after each commit that may matter to listeners of these entities; of all, when it is given none. Also
   * after those of other processes, within milliseconds. Costs nothing while nobody watches. Returns the end of the
   * watch.
   */
  watch(listener: (entities: readonly number[] | undefined) => void): () => void
  /** The store's clock, epoch ms. */
  nowMs(): number
}
