import assert from 'node:assert/strict'
import { numberColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import { SEGMENT_SLOTS } from '../connection/schema.ts'

/** A segment that takes writes, with the writer's counter. */
export interface OpenSegment {
  readonly id: number
  readonly base: number
  lsn: number
  changed: boolean
}

/**
 * The counters of the segments that this writer writes to. They are rows of their own, written once a group: if the LSN
 * were read from the newest document, it would be used again after that document is deleted.
 */
export class OpenSegments {
  readonly #connection: Connection
  readonly #segments = new Map<number, OpenSegment>()

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Call it when another connection may have committed, or after a rollback. */
  forget(): void {
    this.#segments.clear()
  }

  /** As `forget`, for those that this transaction has not advanced. */
  forgetUnchanged(): void {
    for (const [id, { changed }] of this.#segments) if (!changed) this.#segments.delete(id)
  }

  get(id: number): OpenSegment {
    const known = this.#segments.get(id)
    if (known !== undefined) return known
    const row = this.#connection.get('SELECT base, lsn FROM segment WHERE id = ?', id)
    assert(row !== undefined, `segment ${id} is missing`)
    const segment: OpenSegment = {
      id,
      base: numberColumn(row, 0),
      lsn: numberColumn(row, 1),
      changed: false,
    }
    this.#segments.set(id, segment)
    return segment
  }

  /** Writes the counters that changed. True if there were any. */
  store(): boolean {
    let stored = false
    for (const segment of this.#segments.values()) {
      if (!segment.changed) continue
      this.#connection.run('UPDATE segment SET lsn = ? WHERE id = ?', segment.lsn, segment.id)
      segment.changed = false
      stored = true
    }
    return stored
  }
}

/** The row of a number that was taken from a segment's counter. */
export function sequenceNumber({ id, base }: OpenSegment, taken: number): number {
  // In this order: the sum with an LSN could exceed the safe integers.
  return id * SEGMENT_SLOTS + (taken - base)
}
