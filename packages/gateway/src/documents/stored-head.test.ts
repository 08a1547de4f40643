import { DocumentStamp, documentEtag } from '@tidemark/contracts/internal'
import { expect, test } from 'vitest'
import { storedHead } from './stored-head.ts'

test('etag and LSN are read off a text as the store writes it', () => {
  const stamp = new DocumentStamp({ number: 7, rid: 'AAAAAAAAAAA=', selfLink: 'dbs/a/colls/b/' })
  const body = '{"id":"x","_lsn":99}'
  const text = stamp.text({ lsn: 12, ts: 5, rid: 'BBBBBBBBBBBB', ttl: null, body })
  expect(storedHead(text)).toEqual({ etag: documentEtag(7, 12), lsn: 12 })
})

test('of another text nothing is read', () => {
  expect(storedHead('{"id":"x"}')).toBeUndefined()
})
