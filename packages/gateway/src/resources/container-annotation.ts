import { isJsonRecord, type JsonRecord } from '@tidemark/contracts/internal'
import type { CollectionRecord } from '@tidemark/store'
import type { DatabaseRecord } from '@tidemark/store/engine'
import { uniqueKeysOf } from '../collections/unique-key-policy.ts'
import { inferredEcho } from './container-definition.ts'
import { DEFAULT_OFFER, type Offer } from './offer.ts'

/** What the gateway keeps with a collection, as the store's annotation. */
export interface ContainerAnnotation {
  /** The definition as it is answered. */
  readonly echo: JsonRecord
  readonly offer: Offer
}

export function annotationText(annotation: ContainerAnnotation): string {
  return JSON.stringify(annotation)
}

/** A collection's annotation; what fits best when it was made in process or its text is of somebody else. */
export function annotationOf(record: CollectionRecord): ContainerAnnotation {
  const kept = parsed(record.definition.annotation)
  const echo = kept?.['echo']
  const offer = kept?.['offer']
  return {
    echo: isJsonRecord(echo) ? heldEcho(echo, record) : inferredEcho(record),
    offer: isOffer(offer) ? offer : DEFAULT_OFFER,
  }
}

/** Containers from before the store enforced unique keys have some in their annotation; nothing enforces those. */
function heldEcho(echo: JsonRecord, { definition }: CollectionRecord): JsonRecord {
  if (definition.uniqueKeys !== undefined || uniqueKeysOf(echo).length === 0) return echo
  const { uniqueKeyPolicy: _notHeld, ...held } = echo
  return held
}

/** What the gateway keeps with a database: its offer. */
export function databaseAnnotationText(offer: Offer): string {
  return JSON.stringify({ offer })
}

/** The throughput that a database was given; undefined when it has none. */
export function databaseOffer({ annotation }: DatabaseRecord): Offer | undefined {
  const offer = parsed(annotation)?.['offer']
  return isOffer(offer) ? offer : undefined
}

function parsed(text: string | undefined): JsonRecord | undefined {
  if (text === undefined) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return isJsonRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isOffer(value: unknown): value is Offer {
  return isJsonRecord(value) && typeof value['throughput'] === 'number'
}
