import type { EntityRecord } from '@tidemark/store/messages'
import type { Attachment, Listenings } from './listenings.ts'

/**
 * Listens, for expiries alone, to the entities that want their messages to expire although nobody listens (EXP-33): to those
 * that the broker knows.
 */
export class ExpiryKeepers {
  readonly #listenings: Listenings
  readonly #kept = new Map<number, Promise<Attachment | undefined>>()
  #isClosed = false

  constructor(listenings: Listenings) {
    this.#listenings = listenings
  }

  /** These are all entities now. */
  follow(records: readonly EntityRecord[]): void {
    if (this.#isClosed) return
    const wanted = records.filter(wantsKeeper)
    const numbers = new Set(wanted.map(({ number }) => number))
    for (const [number, keeper] of this.#kept) {
      if (numbers.has(number)) continue
      this.#kept.delete(number)
      void detached(keeper)
    }
    for (const record of wanted) {
      if (!this.#kept.has(record.number)) this.#kept.set(record.number, this.#keep(record))
    }
  }

  /** Resolves when nothing of them runs. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#kept.values()].map(detached))
  }

  async #keep(record: EntityRecord): Promise<Attachment | undefined> {
    const onEnd = (): void => void this.#kept.delete(record.number)
    try {
      return await this.#listenings.attach(record, { kind: 'keeper', onEnd })
    } catch {
      // The store is not there. Whoever reads its entities next brings it back.
      onEnd()
      return undefined
    }
  }
}

/** What forwards is listened to by the forwarding (EXP-26). */
function wantsKeeper({ settings: { expiresAlways, forwardTo }, kind }: EntityRecord): boolean {
  return expiresAlways === true && forwardTo === undefined && kind !== 'deadLetter'
}

async function detached(keeper: Promise<Attachment | undefined>): Promise<void> {
  await (await keeper)?.detach()
}
