import { expect, test } from 'vitest'
import { resourcePath } from './resource-path.ts'

test.each([
  ['/', '', ''],
  ['/dbs', 'dbs', ''],
  ['/dbs/', 'dbs', ''],
  ['/dbs/To%20Do', 'dbs', 'dbs/To Do'],
  ['/dbs/a/colls', 'colls', 'dbs/a'],
  ['//dbs/a///', 'dbs', 'dbs/a'],
  ['///', '', ''],
  ['/dbs/a/colls/b/docs?x=/y', 'docs', 'dbs/a/colls/b'],
  ['/dbs/a/colls/B%C3%A9/docs/a%25b', 'docs', 'dbs/a/colls/Bé/docs/a%b'],
  ['/dbs/a/colls/b/pkranges', 'pkranges', 'dbs/a/colls/b'],
  ['/dbs/a/colls/b/operations/partitionkeydelete', 'colls', 'dbs/a/colls/b'],
  ['/offers', 'offers', ''],
  ['/offers/AbC', 'offers', 'abc'],
  ['/offers/AbC/', 'offers', 'abc'],
  ['/offers/offers/AbC/', 'offers', 'offers/abc/'],
  ['http://host:1/dbs/a', 'dbs', 'dbs/a'],
])('%s is signed as type %j and link %j', (target, resourceType, resourceLink) => {
  expect(resourcePath(target)).toMatchObject({ resourceType, resourceLink })
})

test.each([
  ['/dbs/AbC1+w==', 'abc1+w=='],
  ['/dbs/AbC1+w%3D%3D/', 'abc1+w=='],
  ['/dbs/AbC1+w==/colls', 'abc1+w=='],
  ['/dbs/AbC1+w==/colls/AbC1+wD-AAA=', 'abc1+wd-aaa='],
  ['/dbs/AbC1+w==/colls/AbC1+wD-AAA=/pkranges', 'abc1+wd-aaa='],
  ['/dbs/AbC1+w==/colls/AbC1+wD-AAA=/docs/', 'abc1+wd-aaa='],
  ['/dbs/AbC1+w==/colls/AbC1+wD-AAA=/docs/AbC1+wD-AAABAAAAAAAAAA==', 'abc1+wd-aaabaaaaaaaaaa=='],
  ['/dbs/AbC1+w==/colls/AbC1+wD-AAA=/operations/partitionkeydelete', 'abc1+wd-aaa='],
  ['/dbs', undefined],
  ['/dbs/abc', undefined],
  ['/dbs/AbC1+wD-AAA=', undefined],
  ['/dbs/AbC1+w==/colls/orders', undefined],
  ['/dbs/AbC1+w==/colls/AbC1+wD-AAA=/docs/a', undefined],
  ['/offers/AbC1', undefined],
])('%s may be signed by _rid as %j', (target, ridLink) => {
  expect(resourcePath(target).ridLink).toBe(ridLink)
})

test('a broken percent-encoding is refused', () => {
  expect(() => resourcePath('/dbs/%E0%A4%A')).toThrow(
    expect.objectContaining({ code: 'ERR_BAD_REQUEST' }),
  )
})
