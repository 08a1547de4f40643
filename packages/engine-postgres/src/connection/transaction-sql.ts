import { strict as assert } from 'node:assert'
import type { Session } from './session.ts'
import type { Sql, SqlRow, SqlValue, Statement } from './sql.ts'

/** Runs statements within one transaction, in the order of the calls. */
export class TransactionSql implements Sql {
  readonly #session: Session
  readonly #options: { readonly prepared: () => boolean; readonly signal?: AbortSignal | undefined }
  #last: Promise<unknown> = Promise.resolve()
  #ended = false

  constructor(
    session: Session,
    options: { prepared: () => boolean; signal?: AbortSignal | undefined },
  ) {
    this.#session = session
    this.#options = options
  }

  rows(statement: Statement, values: readonly SqlValue[] = []): Promise<readonly SqlRow[]> {
    const { prepared, signal } = this.#options
    return this.#next(() => this.#session.rows(statement, values, { prepared: prepared(), signal }))
  }

  /** One or several statements without values, such as definitions of tables. */
  script(text: string): Promise<void> {
    const { signal } = this.#options
    return this.#next(async () => {
      await this.#session.command(text, { signal })
    })
  }

  /** Refuses later statements: the connection then belongs to other callers. */
  end(): void {
    this.#ended = true
  }

  #next<Result>(act: () => Promise<Result>): Promise<Result> {
    const run = (): Promise<Result> => {
      assert(!this.#ended, 'a statement was sent after its transaction had ended')
      return act()
    }
    const next = this.#last.then(run, run)
    this.#last = next
    return next
  }
}
