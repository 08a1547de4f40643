import { DocumentLeaseStore, archiveExpired, jsonLinesSink, openStore } from 'tidemark'

// Keeps what expires: sessions live until nothing has changed them for `SESSION_SECONDS`, and go to a folder of JSON Lines files before they
// are purged. Start as many of it as you like; end them by SIGTERM, or by a kill: nothing is lost.

export interface Session {
  readonly id: string
  readonly user: string
  readonly pages: number
}

const { TIDEMARK_STORE = './data', ARCHIVE = './archive', SESSION_SECONDS = '1800' } = process.env
const store = await openStore(TIDEMARK_STORE)
const shop = store.database('shop')
const sessions = await shop.createCollectionIfNotExists<Session>({
  id: 'sessions',
  partitionKey: '/user',
  defaultTtl: Number(SESSION_SECONDS), // after the last change; a session's own `ttl` goes before it
  pendingDeletes: { retentionSeconds: 0 }, // purged as soon as every waiting group has them
})
const stopped = new AbortController()
process.once('SIGTERM', () => stopped.abort())
process.once('SIGINT', () => stopped.abort())
const archive = archiveExpired<Session>({
  source: sessions,
  sink: jsonLinesSink({ folder: ARCHIVE }), // or an object with write(batch, context) of your own
  leases: new DocumentLeaseStore(shop.collection('leases')),
  signal: stopped.signal,
})

await archive.start() // from here on, nothing is purged before it is in the folder
console.error('ready')
await archive.finished // rejects when it cannot go on at all
await store.close() // purges wait for the next one; `archive.retire()` would end that
