import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { Statements } from '../connection/statements.ts'
import { POSTGRES } from '../dialect/dialect.ts'
import { STORE_SCHEMA } from './migrations.ts'
import { functionsMark, namesInMark, objectsOf } from './schema-program.ts'

const statements = new Statements('tidemark', { dialect: POSTGRES, clock: 'server' })

test('every function that is written in this folder is part of the schema', () => {
  const folder = new URL('.', import.meta.url)
  const written = readdirSync(folder)
    .filter((name) => name.endsWith('.ts') && !/\.(test|fixture|child)\.ts$/.test(name))
    .flatMap((name) => {
      const text = readFileSync(new URL(name, folder), 'utf8')
      return [...text.matchAll(/^CREATE (?:OR REPLACE )?FUNCTION :schema\.(\w+)/gm)]
    })
    .map(([, name]) => name)
  expect(written.length).toBeGreaterThan(5)
  const marked = namesInMark(functionsMark(STORE_SCHEMA, statements))
  expect(new Set(marked)).toEqual(new Set(written))
})

test('functions are the same whatever clock a process has', () => {
  const own = new Statements('tidemark', { dialect: POSTGRES, clock: 'own' })
  expect(functionsMark(STORE_SCHEMA, own)).toBe(functionsMark(STORE_SCHEMA, statements))
})

test('a changed function has another mark', () => {
  const [first = '', ...rest] = STORE_SCHEMA.functions
  const changed = { ...STORE_SCHEMA, functions: [`${first} `, ...rest] }
  expect(functionsMark(changed, statements)).not.toBe(functionsMark(STORE_SCHEMA, statements))
})

test('a version has what was made up to it and not dropped again, and functions if it is the newest', () => {
  const program = {
    steps: [
      {
        title: 'one',
        ddl: `
CREATE TABLE :schema.a(x integer);
CREATE UNIQUE INDEX a_x ON :schema.a(x);
CREATE SEQUENCE :schema.numbers;
`,
      },
      { title: 'two', ddl: '\nCREATE INDEX a_y ON :schema.a(x);\nDROP INDEX :schema.a_x;\n' },
    ],
    functions: ['\nCREATE FUNCTION :schema.f(x integer) RETURNS integer …'],
  }
  expect([...objectsOf(program, 1)]).toEqual(['table a', 'index a_x', 'sequence numbers'])
  expect([...objectsOf(program, 2)]).toEqual([
    'table a',
    'sequence numbers',
    'index a_y',
    'function f',
  ])
})
