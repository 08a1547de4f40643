import {
  TRANSITIONS_KEPT,
  inTimeOrder,
  isHostSummary,
  isLeaseTransition,
  type DocumentBody,
  type HostNote,
  type HostSummary,
  type LeaseTransition,
} from '@tidemark/contracts'
import { SUMMARIES_KEPT, withSummary, withTransitions } from '../kept-notes.ts'
import { NOTES_PARTITION } from './lease-documents.ts'
import type { LeasePartition } from './lease-partition.ts'

/** Hosts that write to one document wait for each other; each document is read at every look. */
const SLOTS = 16

type NotesKind = 'summaries' | 'transitions'

interface NotesDocument extends DocumentBody {
  readonly partitionKey: string
  readonly kind: NotesKind
  readonly items: readonly unknown[]
  readonly ttl: number
}

/** What the hosts of a group tell, in a bounded number of small documents beside all groups. */
export class NoteDocuments {
  readonly #partition: LeasePartition

  constructor(partition: LeasePartition) {
    this.#partition = partition
  }

  async note({ summary, transitions }: HostNote, signal?: AbortSignal): Promise<void> {
    const slot = slotOf(summary.host)
    await this.#change('summaries', slot, signal, (items) =>
      withSummary(items.filter(isHostSummary), summary, SUMMARIES_KEPT / SLOTS),
    )
    if (transitions.length === 0) return
    await this.#change('transitions', slot, signal, (items) =>
      withTransitions(items.filter(isLeaseTransition), transitions, TRANSITIONS_KEPT / SLOTS),
    )
  }

  async readSummaries(signal?: AbortSignal): Promise<readonly HostSummary[]> {
    return (await this.#read('summaries', signal)).filter(isHostSummary)
  }

  async readTransitions(signal?: AbortSignal): Promise<readonly LeaseTransition[]> {
    return inTimeOrder((await this.#read('transitions', signal)).filter(isLeaseTransition))
  }

  #read(kind: NotesKind, signal?: AbortSignal): Promise<readonly unknown[]> {
    const { collection } = this.#partition
    return this.#partition.retryLostRaces(async () => {
      const ids = Array.from({ length: SLOTS }, (_, slot) => this.#id(kind, slot))
      const reads = ids.map((id) => collection.read(id, NOTES_PARTITION, { signal }))
      return (await Promise.all(reads)).flatMap(({ document }) => itemsIn(document))
    }, signal)
  }

  #change(
    kind: NotesKind,
    slot: number,
    signal: AbortSignal | undefined,
    change: (items: readonly unknown[]) => readonly unknown[],
  ): Promise<void> {
    const { collection } = this.#partition
    const id = this.#id(kind, slot)
    return this.#partition.retryLostRaces(async () => {
      const { document: before } = await collection.read(id, NOTES_PARTITION, { signal })
      const items = change(itemsIn(before))
      // Also in a collection whose documents expire by default.
      const document: NotesDocument = { id, partitionKey: NOTES_PARTITION, kind, items, ttl: -1 }
      const operation =
        before === undefined
          ? ({ kind: 'create', document } as const)
          : ({ kind: 'replace', document, ifMatch: before._etag } as const)
      await collection.batch(NOTES_PARTITION, [operation], { signal, sync: false })
    }, signal)
  }

  #id(kind: NotesKind, slot: number): string {
    return `${encodeURIComponent(this.#partition.group)}-${kind}-${slot}`
  }
}

function itemsIn(document: DocumentBody | undefined): readonly unknown[] {
  const items: unknown = document && Reflect.get(document, 'items')
  return Array.isArray(items) ? items : []
}

/** Spreads names evenly enough: the rest of a sum over their characters. */
function slotOf(host: string): number {
  let sum = 0
  for (const character of host) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) % 65_521
  return sum % SLOTS
}
