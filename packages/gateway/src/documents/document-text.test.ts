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
  const { _lsn, ...rest } = JSON.parse(feedDocumentText(STORED)) as { readonly _lsn: unknown }
  expect(_lsn).toBe(17)
  expect(rest).toEqual(JSON.parse(documentText(STORED)))
})

test('a text that is not one of the store goes out as it is', () => {
  for (const text of ['{}', '{"id":"a"}']) {
    expect([documentText(text), feedDocumentText(text)]).toEqual([text, text])
  }
})
