import type { JournalLine } from './message-journal.ts'

/** A message that was found when everything was looked through. */
export interface FoundMessage {
  readonly entity: string
  readonly id: string
  /** Where it was first enqueued. */
  readonly number: number
}

export interface LedgerVerdict {
  readonly lost: readonly string[]
  readonly twice: readonly string[]
}

/** `unsure`: whether a call happened that was on its way when its process died. */
type Fate = 'unsure whether sent' | 'there' | 'unsure whether removed' | 'gone'

/** What must be where, by what was acknowledged in all rounds so far. */
export class MessageLedger {
  /** By entity and id. */
  readonly #fates = new Map<string, Fate>()
  /** By entity: sequence numbers that anybody has seen, with their message. */
  readonly #numbers = new Map<string, Map<number, string>>()

  read(lines: readonly JournalLine[]): void {
    for (const { deed, entity, id, number } of lines) {
      const key = `${entity} ${id}`
      if (number > 0) this.#saw(entity, number, id)
      const before = this.#fates.get(key)
      if (deed === 'sending') this.#fates.set(key, before ?? 'unsure whether sent')
      // A receiver may have it before its sender has its acknowledgement.
      if (deed === 'sent' && before === 'unsure whether sent') this.#fates.set(key, 'there')
      if (deed === 'removing' && before !== 'gone') this.#fates.set(key, 'unsure whether removed')
      if (deed === 'removed') this.#fates.set(key, 'gone')
    }
  }

  /** Compares with all that is there, and makes up its mind about what was unsure. */
  judge(found: readonly FoundMessage[]): LedgerVerdict {
    const places = new Map<string, number>()
    for (const { entity, id, number } of found) {
      const key = `${entity} ${id}`
      places.set(key, (places.get(key) ?? 0) + 1)
      this.#saw(entity, number, id)
    }
    const lost: string[] = []
    const twice: string[] = []
    for (const [key, fate] of this.#fates) {
      const count = places.get(key) ?? 0
      if (count > 1) twice.push(`${key} is in ${count} places`)
      if (fate === 'there' && count === 0) lost.push(`${key} is nowhere`)
      if (fate === 'gone' && count > 0) twice.push(`${key} is back`)
      this.#fates.set(key, count > 0 ? 'there' : 'gone')
    }
    for (const key of places.keys()) {
      if (!this.#fates.has(key)) twice.push(`${key} was never sent`)
    }
    return { lost, twice }
  }

  /** Numbers that are missing, or that two messages have, where every number has been seen. */
  numberFaults(entity: string): readonly string[] {
    const numbers = this.#numbers.get(entity) ?? new Map<number, string>()
    const highest = Math.max(0, ...numbers.keys())
    const faults: string[] = []
    for (let number = 1; number <= highest; number++) {
      if (!numbers.has(number)) faults.push(`${entity} has no message with number ${number}`)
    }
    return [...faults, ...this.#shared]
  }

  readonly #shared: string[] = []

  #saw(entity: string, number: number, id: string): void {
    const numbers = this.#numbers.get(entity) ?? new Map<number, string>()
    this.#numbers.set(entity, numbers)
    const other = numbers.get(number)
    if (other !== undefined && other !== id) {
      this.#shared.push(`${entity}: ${other} and ${id} both had number ${number}`)
    }
    numbers.set(number, id)
  }
}

/** Sessions complete in the order of their numbers: within each process, and from round to round. */
export class SessionOrder {
  readonly #last = new Map<string, number>()

  /** What came out of order in the journals of one round. */
  faults(journals: readonly (readonly JournalLine[])[]): readonly string[] {
    const faults: string[] = []
    const ends = journals.map((lines) => {
      const last = new Map(this.#last)
      for (const { deed, entity, session, number } of lines) {
        if (deed !== 'removed' || session === '-') continue
        const key = `${entity} ${session}`
        const before = last.get(key) ?? 0
        if (number <= before) faults.push(`${key}: ${number} was completed after ${before}`)
        last.set(key, Math.max(before, number))
      }
      return last
    })
    for (const end of ends) {
      for (const [key, number] of end) {
        this.#last.set(key, Math.max(this.#last.get(key) ?? 0, number))
      }
    }
    return faults
  }
}
