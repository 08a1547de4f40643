import { documentEtag, stampBody } from '@tidemark/store/engine'
import { expect, test } from 'vitest'
import { storedHead } from './stored-head.ts'

test('etag and LSN are read off a text as the store writes it', () => {
  const text = stampBody(
    { head: '{"_rid":"a","_self":"dbs/a/",', tail: '"id":"x","_lsn":99}' },
    { collection: 7, lsn: 12, ts: 5 },
  )
  expect(storedHead(text)).toEqual({ etag: documentEtag(7, 12), lsn: 12 })
})

test('of another text nothing is read', () => {
  expect(storedHead('{"id":"x"}')).toBeUndefined()
})
