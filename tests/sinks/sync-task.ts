export interface Order {
  readonly id: string
  readonly customer: string
  readonly total: number
}

/** What a child is told. */
export interface SyncTask {
  readonly folder: string
  readonly postgresUrl: string
  readonly redisUrl: string
  readonly hookUrl: string
  readonly secret: string
}

/** What it tells of each batch. */
export interface SyncMessage {
  readonly kind: 'written'
}
