/** What every benchmark writes and reads: an order, 1,036 bytes of JSON text. */
export interface OrderDocument {
  readonly id: string
  /** Partition key: 500 customers. */
  readonly customerId: string
  readonly revision: number
  /** Sender's monotonic clock in ms at the write; 0 where latency is not measured. */
  readonly sentAtMs: number
  readonly status: string
  readonly createdAt: string
  readonly currency: string
  readonly total: number
  readonly paid: boolean
  readonly address: {
    readonly name: string
    readonly street: string
    readonly city: string
    readonly country: string
  }
  readonly lines: readonly {
    readonly sku: string
    readonly quantity: number
    readonly price: number
  }[]
  readonly tags: readonly string[]
  readonly note: string
  /** Seconds to live; adds some bytes to the text. */
  readonly ttl?: number
}

/** Bytes of JSON text of every document; all characters are ASCII. */
export const DOCUMENT_BYTES = 1_036
export const CUSTOMERS = 500

/** The partition key value of document `index`. */
export function customerOf(index: number): string {
  return `customer-${String(index % CUSTOMERS).padStart(4, '0')}`
}

export function orderId(index: number): string {
  return `order-${String(index).padStart(8, '0')}`
}

/** The `index` of an `orderId`. */
export function orderIndex(id: string): number {
  return Number(id.slice('order-'.length))
}

/** Document `index` in the given revision; its text has exactly `DOCUMENT_BYTES` bytes. */
export function orderDocument(index: number, revision = 0, sentAtMs = 0): OrderDocument {
  const document: OrderDocument = {
    id: orderId(index),
    customerId: customerOf(index),
    revision,
    sentAtMs,
    status: 'shipped',
    createdAt: '2026-11-21T08:15:30.123Z',
    currency: 'EUR',
    total: 1234.5 + (index % 100),
    paid: index % 3 === 0,
    address: {
      name: 'Ada Lovelace',
      street: 'Dorset Street 12',
      city: 'London',
      country: 'GB',
    },
    lines: [
      { sku: 'AB-100-23', quantity: 2, price: 19.95 },
      { sku: 'CD-200-45', quantity: 1, price: 249 },
      { sku: 'EF-300-67', quantity: 12, price: 3.5 },
    ],
    tags: ['gift', 'express', 'returning-customer'],
    note: '',
  }
  const missing = DOCUMENT_BYTES - JSON.stringify(document).length
  return { ...document, note: NOTE.slice(0, missing) }
}

const NOTE = 'Leave the parcel with the neighbour on the second floor, please. '.repeat(12)
