import { expect, test } from 'vitest'
import type { SchemaState } from './inspect-schema.ts'
import { assertPrimary, judgeSchema } from './judge-schema.ts'
import type { SchemaProgram } from './schema-program.ts'

const PROGRAM: SchemaProgram = {
  steps: [
    { title: 'one', ddl: '\nCREATE TABLE :schema.store();\nCREATE TABLE :schema.doc();\n' },
    { title: 'two', ddl: '\nCREATE INDEX doc_key ON :schema.doc();\n' },
  ],
  functions: ['\nCREATE FUNCTION :schema.commit()'],
}
const QUESTION = { schema: 'tidemark', program: PROGRAM, functions: 'mark' }
const ALL = ['table store', 'table doc', 'index doc_key', 'function commit']
const SERVER = { version: 150_004, product: 'PostgreSQL 15.4', encoding: 'UTF8', isStandby: false }

function state({
  objects = ALL,
  version = 2,
  functions = 'mark',
  server = {},
  storeTable = 'present',
}: {
  objects?: readonly string[]
  version?: number
  functions?: string
  server?: Partial<SchemaState['server']>
  storeTable?: 'present' | 'unreleased'
} = {}): SchemaState {
  const hasStore = objects.includes('table store')
  return {
    server: { ...SERVER, ...server },
    exists: true,
    objects: new Set(objects),
    storeTable: hasStore ? storeTable : 'missing',
    store: hasStore ? { version, functions, storeId: 'id' } : undefined,
  }
}

test.each([
  ['missing', state({ objects: [] })],
  ['current', state()],
  ['current', state({ objects: [...ALL, 'view of_somebody'] })],
  ['older', state({ version: 1, objects: ['table store', 'table doc'], functions: 'then' })],
  ['otherFunctions', state({ functions: 'another' })],
  ['otherFunctions', state({ functions: 'another', objects: ALL.slice(0, 3) })],
])('it is %s', (kind, found) => {
  expect(judgeSchema(found, QUESTION)).toMatchObject({ kind })
})

test.each([
  [
    'ERR_SERVER_UNSUPPORTED',
    'PostgreSQL 14.9',
    { server: { version: 140_009, product: 'PostgreSQL 14.9' } },
  ],
  ['ERR_SERVER_UNSUPPORTED', 'SQL_ASCII', { server: { encoding: 'SQL_ASCII' } }],
  ['ERR_SERVER_UNSUPPORTED', 'needed', { objects: [], server: { version: 140_009 } }],
  ['ERR_STORE_FORMAT', 'version 3', { version: 3 }],
  ['ERR_STORE_FORMAT', 'choose another schema', { storeTable: 'unreleased' as const }],
  ['ERR_STORE_FORMAT', 'newer', { version: 3, objects: ['table store', 'table other'] }],
  ['ERR_STORE_IN_USE', 'table invoice', { objects: ['table invoice'] }],
  ['ERR_STORE_IN_USE', 'table doc', { objects: ['table doc', 'table invoice'] }],
  ['ERR_STORE_DAMAGED', 'table store', { objects: ALL.slice(1) }],
  [
    'ERR_STORE_DAMAGED',
    'index doc_key',
    { objects: ALL.filter((each) => !each.startsWith('index')) },
  ],
  ['ERR_STORE_DAMAGED', 'function commit', { objects: ALL.slice(0, 3) }],
  ['ERR_STORE_DAMAGED', 'table doc', { version: 1, objects: ['table store'] }],
  ['ERR_STORE_DAMAGED', 'table doc', { functions: 'another', objects: ['table store'] }],
  ['ERR_STORE_DAMAGED', 'version 0', { version: 0 }],
])('it answers %s and tells %s', (code, told, found) => {
  expect(() => judgeSchema(state(found), QUESTION)).toThrow(
    expect.objectContaining({ code, message: expect.stringContaining(told) as string }) as Error,
  )
})

test('a table store without its row is damage', () => {
  expect(() => judgeSchema({ ...state(), store: undefined }, QUESTION)).toThrow(
    expect.objectContaining({ code: 'ERR_STORE_DAMAGED' }) as Error,
  )
})

test('a standby is refused where something would have to be written', () => {
  expect(() => assertPrimary(state({ server: { isStandby: true } }))).toThrow(
    expect.objectContaining({ code: 'ERR_STORE_UNAVAILABLE' }) as Error,
  )
  expect(() => assertPrimary(state())).not.toThrow()
})
