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
    `/**
 * Tides.
 *
 * @packageDocumentation
 * @public
 */
export { TideClock, type Tide } from './clock/tide-clock.ts';
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
/** What comes and goes. */
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
    `/** A mark. */\nexport declare function mark(): void;\nexport declare function mark(at: number): void;\n`,
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
  return (await texts()).get('tide.txt') ?? ''
}

async function texts(): Promise<Map<string, string>> {
  return new Map([...(await apiReports(root))].map(([file, { text }]) => [file, text]))
}

async function problems(): Promise<readonly string[] | undefined> {
  return (await apiReports(root)).get('tide.txt')?.problems
}

test('exported names come with their declarations, and with what those mention', async () => {
  expect(await report()).toBe(`# @tidemark/tide
# The API, written by \`npm run api\` from the built declarations. A change here is reviewed.

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
  const reports = await texts()
  expect(staleReports(join(root, 'api'), reports)).toEqual(['api/tide.txt is missing'])
  write('api/tide.txt', reports.get('tide.txt') ?? '')
  expect(staleReports(join(root, 'api'), reports)).toEqual([])
  write('api/ebb.txt', '')
  expect(staleReports(join(root, 'api'), reports)).toEqual(['api/ebb.txt belongs to no package'])
  write(
    'packages/tide/dist/level.d.ts',
    `export interface Level {\n    readonly feet: number;\n}\n`,
  )
  expect(staleReports(join(root, 'api'), await texts())).toEqual([
    'api/tide.txt differs from the built declarations:\n  -   readonly metres: number\n  +   readonly feet: number',
    'api/ebb.txt belongs to no package',
  ])
})

test('without a build the report says what to run', async () => {
  rmSync(join(root, 'packages/tide/dist'), { recursive: true })
  await expect(apiReports(root)).rejects.toThrow('run `npm run build` first')
})

test('what a public entry exports has to be explained, by its comment or its members', async () => {
  expect(await problems()).toEqual([])
  write('packages/tide/dist/mark.d.ts', 'export declare function mark(): void;\n')
  expect(await problems()).toEqual([
    '@tidemark/tide: highMark has no comment, and its members have none',
  ])
  write(
    'packages/tide/dist/mark.d.ts',
    'export interface mark {\n    /** In metres. */\n    level: number;\n}\n',
  )
  expect(await problems()).toEqual([])
})

test('an entry says whom it is for, and what is internal needs no comments', async () => {
  const index = 'packages/tide/dist/index.d.ts'
  const exporting = `export { mark } from './mark.ts';\n`
  write('packages/tide/dist/mark.d.ts', 'export declare function mark(): void;\n')
  write(index, `/** Tides. @packageDocumentation @internal */\n${exporting}`)
  expect(await problems()).toEqual([])
  expect(await report()).toContain('## @tidemark/tide (internal)')
  write(index, `/** Tides. */\n${exporting}`)
  expect(await problems()).toContainEqual(expect.stringMatching(/^@tidemark\/tide has no comment/))
})

test('constructors that nobody can call, and internal members, are left out with what they mention', async () => {
  write(
    'packages/tide/dist/clock/tide-clock.d.ts',
    `import type { Level } from '../level.ts';
/** The clock. */
export declare class TideClock {
    /** @internal */
    constructor(parts: Level);
    wind(): void;
}
/** What a clock gives. */
export declare class Tide {
    constructor(parts: Level);
    readonly high: boolean;
}
`,
  )
  const text = await report()
  expect(text).toContain('export declare class TideClock {\n  wind(): void\n}')
  expect(text).toContain('export declare class Tide {\n  readonly high: boolean\n}')
  expect(text).not.toContain('Level')
})

test('what an internal entry exports is described there only', async () => {
  write(
    'packages/tide/package.json',
    JSON.stringify({
      name: '@tidemark/tide',
      exports: {
        '.': { types: './dist/index.d.ts' },
        './internal': { types: './dist/internal.d.ts' },
      },
    }),
  )
  write(
    'packages/tide/dist/internal.d.ts',
    `/** @packageDocumentation @internal */\nexport { type Level } from './level.ts';\n`,
  )
  const [before, after] = (await report()).split('## @tidemark/tide/internal (internal)')
  expect(before).not.toContain('interface Level')
  expect(after).toContain('interface Level')
})
