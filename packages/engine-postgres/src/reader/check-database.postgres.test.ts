import { sharedPostgres, type SharedPostgres } from '@tidemark/testing/servers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { StoreUnderTest, put } from '../maintenance/store-under-test.fixture.ts'

let server: SharedPostgres
let store: StoreUnderTest

beforeAll(async () => {
  server = await sharedPostgres()
  const allVersions = { retentionSeconds: 3600, previousImages: true }
  store = await StoreUnderTest.open(server, { defaultTtl: 1000, allVersions })
  for (let n = 0; n < 20; n++) await store.commit(`p${n}`, put(`d${n}`), put(`e${n}`))
  await store.split('20')
  for (let n = 0; n < 20; n++) {
    store.clock.step(1000)
    await store.commit(`p${n}`, put(`f${n}`))
  }
})

afterAll(async () => {
  await store[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const ANY = '(SELECT ctid FROM doc WHERE segment = 3 ORDER BY lsn OFFSET 2 LIMIT 1)'
const NEWEST = 'WHERE (segment, lsn) = (SELECT segment, lsn FROM doc ORDER BY ts DESC LIMIT 1)'

/** What is done to the tables, and what is said of it. */
const DAMAGES: Readonly<Record<string, readonly [sql: string, sentence: RegExp]>> = {
  'keys that no range has': [
    `DELETE FROM pkrange WHERE max = 'FF'`,
    /the ranges end at "20", not at "FF"/,
  ],
  'a gap between ranges': [
    `UPDATE pkrange SET min = '21' WHERE max = 'FF'`,
    /range 2 begins at "21", not at "20"/,
  ],
  'a range that writes to a sealed segment': [
    `UPDATE segment SET state = 'sealed' WHERE id = 3`,
    /writes to segment 3, which does not take its writes/,
  ],
  'an open segment that nobody writes to': [
    `INSERT INTO segment SELECT lsn, clock, base, 77, coll, epoch, timeline, state, folded, min, max, horizon,
      log_horizon FROM segment WHERE id = 3`,
    /segment 77 is open, and no range writes to it/,
  ],
  'a segment that is in no range': [
    'DELETE FROM pkrange_segment WHERE segment = 1',
    /segment 1 is in no range/,
  ],
  'documents that no feed has': [
    'DELETE FROM pkrange_segment WHERE segment = 1 AND pkrange = 1',
    /document 1\/\d+\/\d+ is in the index and in no feed/,
  ],
  'a dropped segment with documents': [
    `UPDATE segment SET state = 'dropped' WHERE id = 1`,
    /segment 1 is dropped, and has documents/,
  ],
  'a document outside its segment': [
    `UPDATE doc SET epk = '01' WHERE ctid = ${ANY}`,
    /doc row 3\/\d+\/\d+ is outside its segment's keys/,
  ],
  'a document of another collection': [
    `UPDATE doc SET coll = 99 WHERE ctid = ${ANY}`,
    /doc row 3\/\d+\/\d+ is of collection 99/,
  ],
  'an LSN above the counter': [
    'UPDATE segment SET lsn = lsn - 1 WHERE id = 3',
    /doc row 3\/\d+\/\d+ has an LSN above the counter/,
  ],
  'an LSN that belongs to the segment before': [
    `UPDATE doc SET lsn = 1 WHERE ctid = ${ANY}`,
    /doc row 3\/1\/\d+ has an LSN that is not above \d+/,
  ],
  'a time before that of an earlier LSN': [
    `UPDATE doc SET ts = 5, exp = 1005 ${NEWEST}`,
    /doc row \d+\/\d+\/\d+ has time 5 after \d+/,
  ],
  'an entry of the log out of time': [
    'UPDATE log SET at = 5 WHERE (segment, lsn) = (SELECT segment, max(lsn) FROM log WHERE segment = 3 GROUP BY 1)',
    /log row 3\/\d+\/\d+ has time 5 after \d+/,
  ],
  'a document filed under another second': [
    'UPDATE doc SET exp = exp + 1 WHERE segment = 3',
    /document 3\/\d+\/\d+ is filed under second \d+, not \d+/,
  ],
  'past values that nobody works on': [
    `UPDATE collection SET eras = '[{"defaultTtl":5,"untilMs":1}]'`,
    /past values of defaultTtl, but no work on them/,
  ],
  'a definition that SQL reads otherwise': [
    'UPDATE collection SET log = 1',
    /the columns default_ttl, log and has_unique are not as defined/,
  ],
  'unique keys that SQL does not know of': [
    'UPDATE collection SET has_unique = true',
    /the columns default_ttl, log and has_unique are not as defined/,
  ],
  'an entry of a unique key that no document has': [
    `INSERT INTO unique_entry(coll, ukey, epk, pk, id, value)
      SELECT number, 0, '00', '["p"]', 'x', 'v' FROM collection`,
    /entry 0 of document x has no document/,
  ],
  'a document that has lost its entry of a unique key': [
    `WITH living AS (UPDATE doc SET exp = 0 ${NEWEST})
      UPDATE collection SET definition = (definition::jsonb || '{"uniqueKeys":[["/a"]]}')::text`,
    /document f19 has 0 entries of 1 unique keys/,
  ],
}

test('a store that nothing was done to has no contradictions', async () => {
  expect(await store.database.check()).toEqual([])
})

test.each(Object.entries(DAMAGES))('finds %s', async (_, [sql, sentence]) => {
  const tables = [
    'collection',
    'pkrange',
    'segment',
    'pkrange_segment',
    'doc',
    'log',
    'unique_entry',
  ]
  for (const table of tables) await store.query(`CREATE TABLE kept_${table} AS TABLE ${table}`)
  try {
    await store.query(sql)
    const problems = await store.database.check()
    expect(problems.join('\n')).toMatch(sentence)
    for (const problem of problems) expect(problem).toMatch(/^collection coll: /)
  } finally {
    for (const table of tables) {
      await store.query(`DELETE FROM ${table}`)
      await store.query(`INSERT INTO ${table} TABLE kept_${table}`)
      await store.query(`DROP TABLE kept_${table}`)
    }
  }
  expect(await store.database.check()).toEqual([])
})
