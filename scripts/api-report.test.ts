import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { apiReports, staleReports } from './api-report.ts'

let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'tidemark-api-'))
  write(
    'packages/tide/package.json',
    JSON.stringify({
      name: '@tidemark/tide',
      exports: { '.': { types: './dist/index.d.ts' }, './package.json': './package.json' },
    }),
  )
  write(
    'packages/tide/dist/index.d.ts',
    `export { TideClock, type Tide } from './clock/tide-clock.ts';
export { mark as highMark } from './mark.ts';
export { Lsn } from '@tidemark/contracts';
`,
  )
  write(
    'packages/tide/dist/clock/tide-clock.d.ts',
    `import type { Level } from '../level.ts';
/** The clock. */
export declare class TideClock {
    #private;
    /** In metres. */
    level(at: number): Level; // trailing
}
export type Tide = 'low' | 'high';
export declare function internal(): void;
// the end
`,
  )
  write(
    'packages/tide/dist/level.d.ts',
    `export interface Level {\n    readonly metres: number;\n}\n`,
  )
  write(
    'packages/tide/dist/mark.d.ts',
    `export declare function mark(): void;\nexport declare function mark(at: number): void;\n`,
  )
})

afterEach(() => {
  rmSync(root, { recursive: true })
})

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
}

async function report(): Promise<string> {
  return (await apiReports(root)).get('tide.txt') ?? ''
}

test('exported names come with their declarations, and with what those mention', async () => {
  expect(await report()).toBe(`# @tidemark/tide
# The public API, written by \`npm run api\` from the built declarations. A change here is reviewed.

## @tidemark/tide

export { Lsn } from '@tidemark/contracts'

export type Tide = 'low' | 'high'

export declare class TideClock {
  #private
  level(at: number): Level
}

// highMark is
export declare function mark(): void
export declare function mark(at: number): void

// Not exported, but mentioned above.

export interface Level {
  readonly metres: number
}
`)
})

test('a changed comment changes nothing, a changed member does', async () => {
  const before = await report()
  const clock = 'packages/tide/dist/clock/tide-clock.d.ts'
  write(
    clock,
    `export declare class TideClock {\n    /** New words. */\n    level(): number;\n}\nexport type Tide = 'low';\n`,
  )
  const after = await report()
  expect(after).not.toBe(before)
  write(
    clock,
    `/** Other. */\nexport declare class TideClock {\n    level(): number;\n}\nexport type Tide = 'low';\n`,
  )
  expect(await report()).toBe(after)
})

test('a stale, a missing and a stray report are told apart', async () => {
  const reports = await apiReports(root)
  expect(staleReports(join(root, 'api'), reports)).toEqual(['api/tide.txt is missing'])
  write('api/tide.txt', reports.get('tide.txt') ?? '')
  expect(staleReports(join(root, 'api'), reports)).toEqual([])
  write('api/ebb.txt', '')
  expect(staleReports(join(root, 'api'), reports)).toEqual(['api/ebb.txt belongs to no package'])
  write(
    'packages/tide/dist/level.d.ts',
    `export interface Level {\n    readonly feet: number;\n}\n`,
  )
  expect(staleReports(join(root, 'api'), await apiReports(root))).toEqual([
    'api/tide.txt differs from the built declarations:\n  -   readonly metres: number\n  +   readonly feet: number',
    'api/ebb.txt belongs to no package',
  ])
})

test('without a build the report says what to run', async () => {
  rmSync(join(root, 'packages/tide/dist'), { recursive: true })
  await expect(apiReports(root)).rejects.toThrow('run `npm run build` first')
})
