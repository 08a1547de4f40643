import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { brokenPromises, freezeApi } from './released-api.ts'

const REPORT = `# @tidemark/tide
# The API.

## @tidemark/tide

export { Lsn } from '@tidemark/contracts'

export interface Tide {
  readonly high: boolean
}

// highMark is
export declare function mark(): void

// Not exported, but mentioned above.

export interface Level {
  readonly metres: number
}

## @tidemark/tide/internal (internal)

export declare function wind(): void
`

let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'tidemark-released-'))
  setVersion('0.1.3')
  freezeApi(root, new Map([['tide.txt', REPORT]]))
})

afterEach(() => {
  rmSync(root, { recursive: true })
})

function setVersion(version: string): void {
  writeFileSync(join(root, 'package.json'), JSON.stringify({ version }))
}

function broken(from: string, to: string): string[] {
  expect(REPORT).toContain(from)
  return brokenPromises(root, new Map([['tide.txt', REPORT.replace(from, to)]]))
}

function addChangeset(bump: string): void {
  mkdirSync(join(root, '.changeset'), { recursive: true })
  writeFileSync(join(root, '.changeset', 'a.md'), `---\n'@tidemark/tide': ${bump}\n---\n\nTides.\n`)
}

test('what is frozen has the public entries only', () => {
  const frozen = readFileSync(join(root, 'api/0.1/tide.txt'), 'utf8')
  expect(frozen).toContain('interface Level')
  expect(frozen).not.toContain('wind')
})

test('what is gone or reads differently is broken', () => {
  const needs = 'since 0.1, which needs a changeset that says minor'
  const lsn = `export { Lsn } from '@tidemark/contracts'\n\n`
  expect(broken(lsn, '')).toEqual([`@tidemark/tide: Lsn is removed ${needs}`])
  expect(broken('mark(): void', 'mark(at: number): void')).toEqual([
    `@tidemark/tide: highMark is changed ${needs}`,
  ])
  expect(broken('readonly metres', 'readonly feet')).toEqual([
    `@tidemark/tide: Level is changed ${needs}`,
  ])
  expect(broken('// highMark is\n', '')).toEqual([`@tidemark/tide: highMark is removed ${needs}`])
})

test('what comes, what is internal, and what only stood in a mention breaks nothing', () => {
  expect(broken('export interface Tide', 'export type Ebb = 1\n\nexport interface Tide')).toEqual(
    [],
  )
  expect(broken('  readonly high', '  readonly low?: boolean\n  readonly high')).toEqual([])
  expect(broken('wind(): void', 'wind(times: number): void')).toEqual([])
  expect(broken('export interface Level {\n  readonly metres: number\n}\n', '')).toEqual([])
})

test('a release that may break allows it: minor before 1.0, major since', () => {
  addChangeset('patch')
  expect(broken('readonly high', 'readonly low')).toHaveLength(1)
  addChangeset('minor')
  expect(broken('readonly high', 'readonly low')).toEqual([])

  setVersion('1.2.0')
  freezeApi(root, new Map([['tide.txt', REPORT]]))
  expect(broken('readonly high', 'readonly low')).toHaveLength(1)
  addChangeset('major')
  expect(broken('readonly high', 'readonly low')).toEqual([])
})

test('another line of releases is frozen anew', () => {
  setVersion('0.2.0')
  expect(broken('readonly high', 'readonly high')).toEqual([
    'api/0.2/ has to be what is frozen, and nothing else: run `npm run api:freeze`',
  ])
  freezeApi(root, new Map([['tide.txt', REPORT]]))
  expect(broken('readonly high', 'readonly high')).toEqual([])
})
