import { DocumentStamp } from '@tidemark/contracts/internal'
import { expect, test } from 'vitest'
import { documentText, feedDocumentText } from './document-text.ts'

const STORED =
  '{"_rid":"r","_self":"s/","_etag":"\\"e\\"","_ts":5,"_lsn":17,"id":"a","x":",\\"_lsn\\":9,","_own":1}'

test('answers have no _lsn, and the rest as it is stored', () => {
  expect(JSON.parse(documentText(STORED))).toEqual({
    _rid: 'r',
    _self: 's/',
    _etag: '"e"',
    _ts: 5,
    _attachments: 'attachments/',
    id: 'a',
    x: ',"_lsn":9,',
    _own: 1,
  })
})

test('feeds differ from other answers by _lsn alone', () => {
  const stamp = new DocumentStamp({ number: 1, rid: 'AAAAAAAAAAA=', selfLink: 'dbs/a/colls/b/' })
  for (const ttl of [null, 9]) {
    const version = { lsn: 17, ts: 5, rid: 'own', ttl, body: '{"id":"a","x":",\\"_lsn\\":9,"}' }
    const text = feedDocumentText(stamp, version)
    const { _lsn, ...rest } = JSON.parse(text) as { readonly _lsn: unknown }
    expect(_lsn).toBe(17)
    expect(JSON.stringify(rest)).toBe(documentText(stamp.text(version)))
  }
})

test('a text that is not one of the store goes out as it is', () => {
  for (const text of ['{}', '{"id":"a"}']) expect(documentText(text)).toBe(text)
})
