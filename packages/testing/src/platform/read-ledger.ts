import { StatementSync, type SQLOutputValue } from 'node:sqlite'

export interface Reads {
  /** Rows that came out of statements, and those that `count(*)` went past. */
  rows: number
  /** Of texts that came out, in UTF-8. */
  bytes: number
}

const METHODS = ['all', 'get'] as const

/**
 * What the statements of `node:sqlite` on this thread read from now on, in all and between two turns of its event
 * loop. For tests of how long an embedded store may hold the loop, whatever the machine.
 */
export class ReadLedger implements Disposable {
  readonly total: Reads = { rows: 0, bytes: 0 }
  /** The most of any one turn, of each. */
  readonly most: Reads = { rows: 0, bytes: 0 }
  turns: number = 0
  #turn: Reads = { rows: 0, bytes: 0 }
  #next: NodeJS.Immediate | undefined
  readonly #restore: readonly (() => void)[]

  constructor() {
    this.#restore = METHODS.map((name) => {
      const original = Object.getOwnPropertyDescriptor(StatementSync.prototype, name)
      const call: unknown = original?.value
      if (original === undefined || typeof call !== 'function') throw new Error(`no ${name}`)
      const note = (statement: StatementSync, result: unknown): void =>
        this.#note(statement, name === 'all' ? result : [result])
      Object.defineProperty(StatementSync.prototype, name, {
        ...original,
        value(this: StatementSync, ...values: unknown[]): unknown {
          const result: unknown = Reflect.apply(call, this, values)
          note(this, result)
          return result
        },
      })
      return () => Object.defineProperty(StatementSync.prototype, name, original)
    })
    this.#endTurn()
  }

  [Symbol.dispose](): void {
    clearImmediate(this.#next)
    for (const restore of this.#restore) restore()
  }

  #endTurn(): void {
    this.turns++
    this.#turn = { rows: 0, bytes: 0 }
    this.#next = setImmediate(() => this.#endTurn())
  }

  #note({ sourceSQL }: StatementSync, result: unknown): void {
    const rows = (result as (SQLOutputValue[] | undefined)[]).filter((row) => row !== undefined)
    const counted = /\bcount\(\*\)/.test(sourceSQL)
    for (const row of rows) {
      let bytes = 0
      for (const value of row) if (typeof value === 'string') bytes += Buffer.byteLength(value)
      this.#add(counted && typeof row[0] === 'number' ? row[0] : 1, bytes)
    }
  }

  #add(rows: number, bytes: number): void {
    for (const reads of [this.total, this.#turn]) {
      reads.rows += rows
      reads.bytes += bytes
    }
    this.most.rows = Math.max(this.most.rows, this.#turn.rows)
    this.most.bytes = Math.max(this.most.bytes, this.#turn.bytes)
  }
}
